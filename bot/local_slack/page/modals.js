/** The modal on top of a person's stack: a form, its errors, and the ways out of it. */

import { markActs } from "./acts.js";
import { renderBlocks } from "./blocks.js";
import { h, icon } from "./dom.js";
import { carryEntries, readEntries } from "./entries.js";

/** @typedef {import("./types.js").View} View */
/** @typedef {import("./types.js").Block} Block */
/** @typedef {Record<string, string>} Errors by block_id */

const FIRST = "[autofocus], .block.input :is(input, textarea, select)";

export class Modals {
  /** @type {HTMLDialogElement | null} */
  #dialog = null;
  #shown = "";
  #errors = "";

  /**
   * @param {import("./state.js").Store} store
   * @param {import("./acts.js").Acts} acts
   */
  constructor(store, acts) {
    this.store = store;
    this.acts = acts;
  }

  draw() {
    const views = this.store.seen.views;
    const top = views.at(-1);
    if (!top) {
      this.#close();
      return;
    }
    const mark = [this.store.me, top.id, top.hash, views.length].join(" ");
    if (mark !== this.#shown) this.#show(top, views.length > 1);
    this.#shown = mark;
    const errors = JSON.stringify([top.hash, top.errors]);
    if (errors !== this.#errors && Object.keys(top.errors).length > 0) this.#complain(top.errors);
    this.#errors = errors;
  }

  #close() {
    if (!this.#dialog) return;
    this.#dialog.close();
    this.#dialog.remove();
    this.#dialog = null;
    this.#shown = "";
  }

  /**
   * @param {View} view
   * @param {boolean} stacked
   */
  #show(view, stacked) {
    const before = this.#dialog;
    const same = before?.dataset.view === view.id;
    const dialog = before ?? this.#open();
    const form = this.#form(view, stacked);
    if (same && before) carryEntries(before, form);
    dialog.dataset.view = view.id;
    dialog.replaceChildren(form, h("div", { class: "toasts", role: "status" }));
    const first = /** @type {HTMLElement | null} */ (
      form.querySelector(FIRST) ?? form.querySelector("h2")
    );
    first?.focus();
  }

  #open() {
    const dialog = /** @type {HTMLDialogElement} */ (
      h("dialog", { class: "sheet modal", "aria-labelledby": "modal-title" })
    );
    // Escape asks the server to close it, as every other way out does.
    dialog.addEventListener("cancel", (event) => {
      if (event.target !== dialog) return;
      event.preventDefault();
      this.#dismiss();
    });
    document.body.append(dialog);
    dialog.showModal();
    this.#dialog = dialog;
    return dialog;
  }

  #dismiss() {
    const top = this.store.seen.views.at(-1);
    if (top) void this.acts.close(top.id);
  }

  /**
   * @param {View} view
   * @param {boolean} stacked
   */
  #form(view, stacked) {
    const { store, acts } = this;
    const away = () => this.#dismiss();
    const closing = stacked ? "Back" : (view.close?.text ?? "Close");
    const setting = {
      place: { view_id: view.id },
      values: view.state.values,
      context: store.context,
      acts,
    };
    const submit =
      view.submit &&
      h(
        "button",
        { type: "submit", class: "button primary", "data-press": `${view.id} submit` },
        view.submit.text,
      );
    const form = h(
      "form",
      { novalidate: true },
      h(
        "header",
        {},
        h(
          "button",
          { type: "button", class: "button square", "aria-label": closing, on: { click: away } },
          icon(stacked ? "back" : "close"),
        ),
        h("h2", { id: "modal-title", tabindex: "-1", dir: "auto" }, view.title?.text ?? ""),
      ),
      h(
        "div",
        { class: "body", tabindex: "0", role: "group", "aria-label": "Form" },
        renderBlocks(view.blocks, setting),
      ),
      h(
        "footer",
        {},
        h("p", { class: "failure", role: "alert", "data-failure": view.id, hidden: true }),
        h("button", { type: "button", class: "button", on: { click: away } }, closing),
        submit,
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (submit) this.#submit(view, form);
    });
    return form;
  }

  /**
   * @param {View} view
   * @param {HTMLElement} form
   */
  #submit(view, form) {
    const values = readEntries(form);
    const errors = incomplete(view.blocks, values);
    this.#complain(errors);
    if (Object.keys(errors).length > 0) return;
    this.#errors = "";
    void this.acts.submit(view.id, values).then(() => markActs(this.store));
  }

  /** @param {Errors} errors */
  #complain(errors) {
    const dialog = this.#dialog;
    if (!dialog) return;
    for (const slot of /** @type {Iterable<HTMLElement>} */ (
      dialog.querySelectorAll("[data-error]")
    )) {
      const text = errors[slot.dataset.error ?? ""] ?? "";
      slot.textContent = text;
      slot.hidden = !text;
      const control = slot.parentElement?.querySelector("input, textarea, select");
      if (text) control?.setAttribute("aria-invalid", "true");
      else control?.removeAttribute("aria-invalid");
    }
    /** @type {HTMLElement | null} */ (dialog.querySelector("[aria-invalid]"))?.focus();
  }
}

/**
 * What Slack's client would not let a person submit.
 *
 * @param {Block[]} blocks
 * @param {Record<string, Record<string, unknown>>} values
 * @returns {Errors}
 */
function incomplete(blocks, values) {
  /** @type {Errors} */
  const errors = {};
  for (const block of blocks) {
    if (block.type !== "input") continue;
    const value = values[block.block_id]?.[block.element.action_id];
    const empty =
      value === null || value === undefined || (Array.isArray(value) && value.length === 0);
    const least = block.element.min_length ?? 0;
    if (empty && !block.optional) errors[block.block_id] = "Please fill in this field.";
    else if (typeof value === "string" && value.length < least) {
      errors[block.block_id] = `Please write at least ${least} characters.`;
    }
  }
  return errors;
}
