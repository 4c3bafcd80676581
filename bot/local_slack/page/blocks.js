/** Blocks and what can be pressed in them. docs.slack.dev/reference/block-kit */

import { placeKey, pressKey } from "./acts.js";
import { h, icon } from "./dom.js";
import { readEntries } from "./entries.js";
import { inputElement } from "./inputs.js";
import { menuButton } from "./menu.js";
import { richText } from "./richtext.js";
import { textObject } from "./texts.js";

/** @typedef {import("./types.js").Block} Block */
/** @typedef {import("./types.js").Element_} Element_ */
/** @typedef {import("./types.js").Option} Option */
/** @typedef {import("./types.js").Place} Place */
/** @typedef {import("./types.js").Values} Values */

/**
 * @typedef {object} Setting where blocks stand and what they need to know
 * @property {Place} place
 * @property {Values} values
 * @property {import("./tokens.js").Context} context
 * @property {import("./acts.js").Acts} acts
 */

const PRESSABLE = new Set(["actions", "input"]);

/**
 * @param {Block[]} blocks
 * @param {Setting} setting
 */
export function renderBlocks(blocks, setting) {
  const root = h("div", { class: "blocks" });
  root.append(
    ...blocks.map((block) =>
      h("div", { class: `block ${block.type}` }, content(block, setting, root)),
    ),
  );
  if (blocks.some((block) => PRESSABLE.has(block.type) || block.accessory)) {
    root.append(
      h("p", {
        class: "failure",
        role: "alert",
        "data-failure": placeKey(setting.place),
        hidden: true,
      }),
    );
  }
  return root;
}

/**
 * @param {Block} block
 * @param {Setting} setting
 * @param {HTMLElement} root
 * @returns {HTMLElement}
 */
function content(block, setting, root) {
  const { context } = setting;
  switch (block.type) {
    case "header":
      return h("h2", { dir: "auto" }, block.text.text);
    case "section":
      return section(block, setting, root);
    case "context":
      return h(
        "div",
        { class: "small" },
        ...block.elements.map((/** @type {any} */ one) => small(one, context)),
      );
    case "divider":
      return h("hr");
    case "actions":
      return h(
        "div",
        { class: "row" },
        ...block.elements.map((/** @type {Element_} */ one) => element(one, block, setting, root)),
      );
    case "input":
      return input(block, setting, root);
    case "rich_text":
      return richText(block, context);
    case "image":
      return picture(block);
    case "markdown":
      return h("div", { class: "text", dir: "auto" }, block.text);
    default:
      return h("p", { class: "unknown" }, `A block of type “${block.type}” is not shown here.`);
  }
}

/**
 * @param {Block} block
 * @param {Setting} setting
 * @param {HTMLElement} root
 */
function section(block, setting, root) {
  const fields = (block.fields ?? []).map((/** @type {any} */ one) =>
    textObject(one, setting.context),
  );
  return h(
    "div",
    { class: "beside" },
    h(
      "div",
      { class: "main" },
      block.text && textObject(block.text, setting.context),
      fields.length > 0 && h("div", { class: "fields" }, ...fields),
    ),
    block.accessory && element(block.accessory, block, setting, root),
  );
}

/**
 * @param {any} one
 * @param {import("./tokens.js").Context} context
 */
function small(one, context) {
  return one.type === "image" ? picture(one, "inline") : textObject(one, context, "span");
}

/**
 * Pictures are not fetched: the page asks nobody but its own server.
 *
 * @param {any} image
 * @param {string} [style]
 */
function picture(image, style = "") {
  const said =
    image.title?.text && image.title.text !== image.alt_text ? `${image.title.text}: ` : "";
  return h(
    "span",
    { class: `picture ${style}`, title: image.image_url ?? null },
    icon("image"),
    `${said}${image.alt_text}`,
  );
}

/**
 * @param {Block} block
 * @param {Setting} setting
 * @param {HTMLElement} root
 */
function input(block, setting, root) {
  const id = pressKey(setting.place, block.block_id, block.element.action_id);
  const [hint, error] = [`${id}/hint`, `${id}/error`];
  const optional = block.optional && h("span", { class: "optional" }, " (optional)");
  const labelledBy = `${id}/label`;
  const describedBy = block.hint ? `${hint} ${error}` : error;
  const made = element(block.element, block, setting, root, { id, labelledBy, describedBy });
  return h(
    "div",
    { class: "asked", "data-asked": block.block_id },
    h("label", { for: id, id: labelledBy, dir: "auto" }, block.label.text, optional),
    made,
    block.hint && h("p", { class: "hint", id: hint, dir: "auto" }, block.hint.text),
    h("p", { class: "error", id: error, "data-error": block.block_id, hidden: true }),
  );
}

/**
 * @param {Element_} one
 * @param {Block} block
 * @param {Setting} setting
 * @param {HTMLElement} root
 * @param {{ id: string, labelledBy: string, describedBy: string }} [labelled] by the input block around it
 * @returns {HTMLElement}
 */
function element(one, block, setting, root, labelled) {
  const { place, context, acts } = setting;
  const key = pressKey(place, block.block_id, one.action_id);
  /** @param {unknown} [value] */
  const press = (value) =>
    void acts.press({ place, block: block.block_id, element: one, value, values: entered(root) });
  if (one.type === "image") return picture(one);
  if (one.type === "button") return button(one, key, press);
  if (one.type === "overflow") return overflow(one, key, press);
  const speaks = block.type !== "input" || block.dispatch_action;
  const made = inputElement({
    element: one,
    block: block.block_id,
    current: setting.values[block.block_id]?.[one.action_id ?? ""] ?? {},
    id: labelled?.id ?? key,
    name: labelled ? "" : (one.placeholder?.text ?? "Choose"),
    labelledBy: labelled?.labelledBy,
    describedBy: labelled?.describedBy,
    context,
    changed: speaks ? press : undefined,
  });
  return made ?? h("span", { class: "unknown" }, `${one.type} is not shown here`);
}

/**
 * What stands in the input blocks around something that is pressed.
 *
 * @param {HTMLElement} root
 */
function entered(root) {
  const inputs = new Set(
    /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-asked]")]).map(
      (one) => one.dataset.asked,
    ),
  );
  return Object.fromEntries(
    Object.entries(readEntries(root)).filter(([block]) => inputs.has(block)),
  );
}

/**
 * @param {Element_} one
 * @param {string} key
 * @param {(value?: unknown) => void} press
 */
function button(one, key, press) {
  const attributes = {
    class: `button ${one.style ?? ""}`,
    "aria-label": one.accessibility_label ?? null,
    "data-press": key,
    on: { click: () => press() },
  };
  if (one.url && /^https?:\/\//i.test(one.url)) {
    return h(
      "a",
      { ...attributes, href: one.url, target: "_blank", rel: "noopener noreferrer" },
      one.text.text,
    );
  }
  return h("button", { ...attributes, type: "button" }, one.text.text);
}

/**
 * @param {Element_} one
 * @param {string} key
 * @param {(value?: unknown) => void} press
 */
function overflow(one, key, press) {
  const items = one.options.map((/** @type {Option} */ option) => ({
    text: option.text.text,
    run: () => press(option.value),
  }));
  return menuButton({ label: "More actions", press: key, items });
}
