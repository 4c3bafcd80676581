/** Making elements. Whatever is given as a child is text: nothing here reads HTML. */

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `on` holds listeners; null and false leave one out
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [kind, listener] of Object.entries(value)) made.addEventListener(kind, listener);
    } else if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  made.append(...present(children));
  return made;
}

/**
 * @param {...(Child | Child[])} children
 * @returns {DocumentFragment}
 */
export function fragment(...children) {
  const made = document.createDocumentFragment();
  made.append(...present(children));
  return made;
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
function present(children) {
  return /** @type {(Node | string)[]} */ (
    children.flat().filter((child) => child !== null && child !== undefined && child !== false)
  );
}

const SHAPES = {
  hash: "M6.5 2.5 5 13.5M11 2.5 9.5 13.5M2.5 5.5h11.5M2 10.5h11.5",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  archive: "M2.5 3.5h11v3h-11zM3.5 6.5v6.5h9V6.5M6.5 9h3",
  eye: "M1.5 8s2.5-4.5 6.5-4.5S14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6.3a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4z",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  close: "M4 4l8 8M12 4l-8 8",
  back: "M9.5 3.5 5 8l4.5 4.5",
  down: "M3.5 6 8 10.5 12.5 6",
  send: "M2.5 13 14 8 2.5 3l1.6 5zM4.1 8H9",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  warn: "M8 2 1.5 13.5h13zM8 6.5v3.5M8 11.8v.2",
  image: "M2.5 3.5h11v9h-11zM2.5 10.5l3-3 3 3 2-2 3 3M10.5 6h.01",
  reply: "M6.5 3.5 2.5 7.5l4 4M2.5 7.5h6.5a4.5 4.5 0 0 1 4.5 4.5v.5",
  home: "M2.5 7.5 8 2.5l5.5 5M4 6.5v7h8v-7",
};

/**
 * A small line drawing, hidden from screen readers.
 *
 * @param {keyof typeof SHAPES} name
 */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  drawing.setAttribute("viewBox", "0 0 16 16");
  drawing.setAttribute("class", `icon icon-${name}`);
  drawing.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", SHAPES[name]);
  drawing.append(line);
  return drawing;
}

/** @typedef {{ key: string, mark: string, make: () => HTMLElement }} Item */

/**
 * Brings a parent's children up to date and keeps those whose mark is the same, so that focus,
 * typed text and screen readers are not disturbed by what did not change.
 *
 * @param {HTMLElement} parent
 * @param {Item[]} items
 * @param {(before: HTMLElement, after: HTMLElement) => void} [carry] moves what a person did
 */
export function reconcile(parent, items, carry = () => {}) {
  const had = new Map();
  for (const child of /** @type {Iterable<HTMLElement>} */ (parent.children)) {
    had.set(child.dataset.key, child);
  }
  const focused = focusKey(parent);
  let next = parent.firstElementChild;
  for (const item of items) {
    const before = had.get(item.key);
    let node = before;
    if (!before || before.dataset.mark !== item.mark) {
      node = item.make();
      node.dataset.key = item.key;
      node.dataset.mark = item.mark;
      if (before) carry(before, node);
      if (next === before && before) next = before.nextElementSibling;
      before?.remove();
    }
    had.delete(item.key);
    if (next && node === next) next = next.nextElementSibling;
    else parent.insertBefore(node, next);
  }
  for (const gone of had.values()) gone.remove();
  if (focused) refocus(parent, focused);
}

/** @param {HTMLElement} parent */
function focusKey(parent) {
  const active = /** @type {HTMLElement | null} */ (document.activeElement);
  if (!active || active === parent || !parent.contains(active)) return null;
  const item = /** @type {HTMLElement | null} */ (active.closest("[data-key]"));
  return { own: active.dataset.press ?? active.dataset.key ?? "", item: item?.dataset.key ?? "" };
}

/**
 * @param {HTMLElement} parent
 * @param {{ own: string, item: string }} focused
 */
function refocus(parent, focused) {
  if (parent.contains(document.activeElement) && document.activeElement !== parent) return;
  const all = /** @type {HTMLElement[]} */ ([
    ...parent.querySelectorAll("[data-press], [data-key]"),
  ]);
  const same = all.find(
    (one) => focused.own && (one.dataset.press ?? one.dataset.key) === focused.own,
  );
  // What was focused is gone, such as a button of a card that closed: stay where it stood.
  const around = all.find((one) => one.dataset.key === focused.item);
  (same ?? around)?.focus({ preventScroll: true });
}
