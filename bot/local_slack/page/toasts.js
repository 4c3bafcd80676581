/** Short notes that belong to no channel; inside the open dialog if there is one. */

import { h, icon } from "./dom.js";

/** @typedef {import("./types.js").Notice} Notice */

const MOST = 3;

/**
 * @param {string} text
 * @param {string} [detail]
 */
export function toast(text, detail = "") {
  const place = document.querySelector("dialog[open] .toasts") ?? document.getElementById("toasts");
  const close = h(
    "button",
    {
      type: "button",
      class: "button square",
      "aria-label": "Dismiss",
      on: { click: () => note.remove() },
    },
    icon("close"),
  );
  const said = h("div", {}, h("p", {}, text), detail && h("p", { class: "detail" }, detail));
  const note = h("div", { class: "toast" }, icon("warn"), said, close);
  place?.append(note);
  while (place && place.children.length > MOST) place.firstElementChild?.remove();
}

/** Tells each person of the notices that came while the page was open, once. */
export class Notices {
  /** @type {Map<string, number>} */
  #told = new Map();

  /**
   * @param {string} user
   * @param {Notice[]} notices
   */
  tell(user, notices) {
    const known = this.#told.get(user) ?? notices.length;
    this.#told.set(user, notices.length);
    for (const one of notices.slice(known)) {
      if (!one.channel) toast(one.text, one.detail);
    }
  }
}
