/** A menu that opens under a button: arrows move, Escape closes, a click elsewhere closes too. */

import { h, icon } from "./dom.js";

/**
 * @param {{ label: string, press: string, items: { text: string, run: () => void }[] }} menu
 */
export function menuButton({ label, press, items }) {
  const list = h("div", { class: "menu-items", role: "menu", "aria-label": label, hidden: true });
  const button = h(
    "button",
    {
      type: "button",
      class: "button square",
      "aria-label": label,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      "data-press": press,
    },
    icon("more"),
  );
  const root = h("div", { class: "menu" }, button, list);
  const rows = items.map(({ text, run }) =>
    h(
      "button",
      { type: "button", role: "menuitem", tabindex: "-1", on: { click: () => choose(run) } },
      text,
    ),
  );
  list.append(...rows);

  /** @param {boolean} open */
  function toggle(open) {
    list.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) place();
    (open ? rows[0] : button)?.focus();
  }

  /** Opens to the other side where there is no room on this one. */
  function place() {
    list.classList.remove("leftward");
    const edge = root.closest(".messages, .body")?.getBoundingClientRect().right ?? innerWidth;
    list.classList.toggle("leftward", list.getBoundingClientRect().right > edge);
    list.scrollIntoView({ block: "nearest" });
  }

  /** @param {() => void} run */
  function choose(run) {
    toggle(false);
    run();
  }

  button.addEventListener("click", () => toggle(Boolean(list.hidden)));
  root.addEventListener("focusout", (event) => {
    if (root.contains(/** @type {Node | null} */ (event.relatedTarget)) || list.hidden) return;
    list.hidden = true;
    button.setAttribute("aria-expanded", "false");
  });
  root.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (event.key === "Escape") toggle(false);
    else if (to !== undefined) rows[(to + rows.length) % rows.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return root;
}
