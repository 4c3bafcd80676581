/** Reading what people typed or picked, and keeping it when the app changes what is around it. */

/** @type {WeakMap<Element, () => unknown>} */
const readers = new WeakMap();

const CONTROLS = "input, textarea, select";

/**
 * Makes an element one whose value can be read.
 *
 * @param {HTMLElement} entry
 * @param {{ block: string, action: string, read: () => unknown }} what
 */
export function makeEntry(entry, { block, action, read }) {
  entry.classList.add("entry");
  entry.dataset.block = block;
  entry.dataset.action = action;
  entry.addEventListener("input", () => (entry.dataset.touched = "true"));
  readers.set(entry, read);
  return entry;
}

/**
 * Returns all that stands in a place, as the control API takes it.
 *
 * @param {Element} root
 * @returns {Record<string, Record<string, unknown>>}
 */
export function readEntries(root) {
  /** @type {Record<string, Record<string, unknown>>} */
  const values = {};
  for (const entry of entries(root)) {
    const { block = "", action = "" } = entry.dataset;
    (values[block] ??= {})[action] = readers.get(entry)?.();
  }
  return values;
}

/**
 * Takes what a person touched along when a place is drawn anew.
 *
 * @param {Element} before
 * @param {Element} after
 */
export function carryEntries(before, after) {
  for (const entry of entries(before)) {
    if (!entry.dataset.touched) continue;
    const same = entries(after).find((one) => isSame(one, entry));
    if (same) copy(entry, same);
  }
}

/** @param {Element} root */
function entries(root) {
  return /** @type {HTMLElement[]} */ ([...root.querySelectorAll(".entry")]);
}

/**
 * @param {HTMLElement} one
 * @param {HTMLElement} other
 */
function isSame(one, other) {
  const [a, b] = [one.dataset, other.dataset];
  const kind = controls(one).length === controls(other).length;
  return a.block === b.block && a.action === b.action && kind;
}

/**
 * @param {HTMLElement} from
 * @param {HTMLElement} to
 */
function copy(from, to) {
  const target = controls(to);
  to.dataset.touched = "true";
  controls(from).forEach((control, index) => {
    target[index].value = control.value;
    if ("checked" in control) target[index].checked = control.checked;
  });
}

/** @param {HTMLElement} entry */
function controls(entry) {
  return /** @type {HTMLInputElement[]} */ ([...entry.querySelectorAll(CONTROLS)]);
}
