/** Elements that hold a value: what people type into and pick from. */

import { h } from "./dom.js";
import { makeEntry } from "./entries.js";
import { textObject } from "./texts.js";

/** @typedef {import("./types.js").Element_} Element_ */
/** @typedef {import("./types.js").Option} Option */
/** @typedef {import("./tokens.js").Context} Context */

/**
 * @typedef {object} Input
 * @property {Element_} element
 * @property {string} block
 * @property {Record<string, any>} current what stands in it now, as in state.values
 * @property {string} id of the control
 * @property {string} name what a screen reader calls it where no label does
 * @property {string} [labelledBy]
 * @property {string} [describedBy]
 * @property {Context} context
 * @property {(value: unknown) => void} [changed] told of each pick, and of Enter in a line of text
 */

/** @typedef {{ node: HTMLElement, read: () => unknown, on?: "change" | "enter" }} Made */

const TYPED = {
  email_text_input: "email",
  url_text_input: "url",
  number_input: "text",
  plain_text_input: "text",
};
const DATED = {
  datepicker: ["date", "selected_date"],
  timepicker: ["time", "selected_time"],
  datetimepicker: ["datetime-local", "selected_date_time"],
};

/**
 * Returns the element, null if it is of a type that holds no value.
 *
 * @param {Input} input
 * @returns {HTMLElement | null}
 */
export function inputElement(input) {
  const made = make(input);
  if (!made) return null;
  const { element, block, changed } = input;
  const { node, read } = made;
  if (changed && made.on === "enter") {
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      changed(read());
    });
  } else if (changed) {
    node.addEventListener("change", () => changed(read()));
  }
  const entry = h("div", { class: `input ${element.type}` }, node);
  return makeEntry(entry, { block, action: element.action_id ?? "", read });
}

/**
 * @param {Input} input
 * @returns {Made | null}
 */
function make(input) {
  const { type } = input.element;
  if (type in TYPED) return typed(input);
  if (type in DATED) return dated(input);
  switch (type) {
    case "rich_text_input":
      return richTyped(input);
    case "radio_buttons":
      return choices(input, "radio", input.element.options);
    case "checkboxes":
      return choices(input, "checkbox", input.element.options);
    default:
      if (type.startsWith("multi_")) return choices(input, "checkbox", offered(input), "many");
      return type.endsWith("_select") ? select(input) : null;
  }
}

/** @param {Input} input */
function attributes({ id, name, describedBy, element }) {
  return {
    id,
    "aria-label": name || null,
    "aria-describedby": describedBy || null,
    placeholder: element.placeholder?.text ?? null,
    autofocus: Boolean(element.focus_on_load),
    "data-press": id,
  };
}

/**
 * @param {Input} input
 * @returns {Made}
 */
function typed(input) {
  const { element, current } = input;
  const most = element.max_length ?? null;
  const given = { ...attributes(input), maxlength: most, autocomplete: "off", dir: "auto" };
  const lines = element.multiline
    ? h("textarea", { ...given, rows: 4 })
    : h("input", { ...given, type: TYPED[/** @type {"number_input"} */ (element.type)] });
  const control = /** @type {HTMLInputElement} */ (lines);
  control.value = current.value ?? "";
  if (element.type === "number_input") control.inputMode = "decimal";
  const left = h("span", { class: "left", "aria-hidden": "true" });
  const count = () =>
    (left.textContent =
      most && control.value.length > most * 0.8 ? `${control.value.length} / ${most}` : "");
  control.addEventListener("input", count);
  count();
  const node = h("div", { class: "typed" }, control, left);
  return { node, read: () => control.value || null, on: element.multiline ? "change" : "enter" };
}

/**
 * @param {Input} input
 * @returns {Made}
 */
function richTyped(input) {
  const control = /** @type {HTMLTextAreaElement} */ (
    h("textarea", { ...attributes(input), rows: 4, dir: "auto" })
  );
  const read = () => {
    if (!control.value) return null;
    const text = { type: "text", text: control.value };
    return { type: "rich_text", elements: [{ type: "rich_text_section", elements: [text] }] };
  };
  return { node: control, read };
}

/**
 * @param {Input} input
 * @returns {Made}
 */
function dated(input) {
  const [type, field] = DATED[/** @type {"datepicker"} */ (input.element.type)];
  const control = /** @type {HTMLInputElement} */ (h("input", { ...attributes(input), type }));
  const known = input.current[field];
  const isMoment = type === "datetime-local";
  if (known) control.value = isMoment ? localMoment(known) : known;
  const seconds = () => Math.floor(new Date(control.value).getTime() / 1000);
  const read = () => (control.value && isMoment ? seconds() : control.value || null);
  return { node: control, read };
}

/** @param {number} seconds */
function localMoment(seconds) {
  return new Date(seconds * 1000).toLocaleString("sv-SE").replace(" ", "T").slice(0, 16);
}

/**
 * @param {Input} input
 * @returns {Made}
 */
function select(input) {
  const { element, current } = input;
  const chosen = selectedValues(current)[0] ?? "";
  const nothing = element.placeholder?.text ?? "Choose…";
  const options = offered(input);
  if (chosen && !options.some((one) => one.value === chosen))
    options.push({ text: { type: "plain_text", text: chosen }, value: chosen });
  const groups = element.option_groups?.map((/** @type {any} */ group) =>
    h("optgroup", { label: group.label.text }, ...group.options.map(optionElement)),
  );
  const control = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      attributes(input),
      h("option", { value: "" }, nothing),
      ...(groups ?? options.map(optionElement)),
    )
  );
  control.value = chosen;
  control.disabled = element.type === "external_select";
  if (control.disabled) control.title = "What an external select offers is not modelled here";
  return { node: control, read: () => control.value || null };
}

/** @param {Option} option */
function optionElement(option) {
  return h("option", { value: option.value ?? "" }, option.text.text);
}

/**
 * @param {Input} input
 * @param {"radio" | "checkbox"} type
 * @param {Option[]} options
 * @param {string} [style]
 * @returns {Made}
 */
function choices(input, type, options, style = "") {
  const { id, name, labelledBy, describedBy, context, current } = input;
  const chosen = new Set(selectedValues(current));
  const rows = options.map((option, index) => {
    const value = option.value ?? "";
    const box = h("input", {
      type,
      name: id,
      value,
      checked: chosen.has(value),
      "data-press": `${id}/${index}`,
    });
    const described =
      option.description &&
      h("span", { class: "described" }, textObject(option.description, context, "span"));
    return h(
      "label",
      { class: "choice" },
      box,
      h("span", {}, textObject(option.text, context, "span"), described),
    );
  });
  const role = type === "radio" ? "radiogroup" : "group";
  const named = labelledBy ? { "aria-labelledby": labelledBy } : { "aria-label": name };
  const node = h(
    "div",
    { id, role, class: `choices ${style}`, ...named, "aria-describedby": describedBy || null },
    ...rows,
  );
  const picked = () =>
    /** @type {HTMLInputElement[]} */ ([...node.querySelectorAll("input:checked")]).map(
      (one) => one.value,
    );
  return { node, read: () => (type === "radio" ? (picked()[0] ?? null) : picked()) };
}

/**
 * @param {Input} input
 * @returns {Option[]}
 */
function offered({ element, context }) {
  const kind = element.type.replace("multi_", "");
  const named = (/** @type {string} */ value, /** @type {string} */ text) => ({
    value,
    text: { type: /** @type {const} */ ("plain_text"), text },
  });
  if (kind === "users_select") {
    return [...context.directory.users.values()].map((user) =>
      named(user.id, context.directory.name(user.id)),
    );
  }
  if (kind === "channels_select" || kind === "conversations_select") {
    const shown = context.visible.filter((one) => kind === "conversations_select" || !one.is_im);
    return shown.map((one) => named(one.id, context.directory.title(one, context.me)));
  }
  const grouped = (element.option_groups ?? []).flatMap(
    (/** @type {any} */ group) => group.options,
  );
  return [...(element.options ?? []), ...grouped];
}

/**
 * What is picked, whatever the kind of element calls it.
 *
 * @param {Record<string, any>} current
 * @returns {string[]}
 */
function selectedValues(current) {
  const found = Object.entries(current).find(([name]) => name.startsWith("selected_"))?.[1] ?? [];
  return [found].flat().map((one) => (typeof one === "object" ? one.value : String(one)));
}
