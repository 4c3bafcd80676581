/** rich_text blocks. docs.slack.dev/reference/block-kit/blocks/rich-text-block */

import { h } from "./dom.js";
import { broadcast, group, link, person, place } from "./tokens.js";
import { dateToken } from "./time.js";

/** @typedef {import("./tokens.js").Context} Context */
/** @typedef {Record<string, any>} Part */

const LISTS = { ordered: "ol", bullet: "ul" };
const MARKS = { bold: "strong", italic: "em", strike: "s", underline: "u", code: "code" };

/**
 * @param {Part} block
 * @param {Context} context
 */
export function richText(block, context) {
  return h(
    "div",
    { class: "rich" },
    ...block.elements.map((/** @type {Part} */ one) => container(one, context)),
  );
}

/**
 * @param {Part} part
 * @param {Context} context
 * @returns {HTMLElement}
 */
function container(part, context) {
  const inside = part.elements ?? [];
  switch (part.type) {
    case "rich_text_section":
      return h("div", { class: "text", dir: "auto" }, ...inlines(inside, context));
    case "rich_text_preformatted":
      return h("pre", { dir: "auto" }, ...inlines(inside, context));
    case "rich_text_quote":
      return h("blockquote", { dir: "auto" }, ...inlines(inside, context));
    case "rich_text_list":
      return list(part, context);
    default:
      return unknown(part.type);
  }
}

/**
 * @param {Part} part
 * @param {Context} context
 */
function list(part, context) {
  const items = part.elements.map((/** @type {Part} */ item) =>
    h("li", {}, container(item, context)),
  );
  const tag = LISTS[/** @type {"bullet"} */ (part.style)] ?? "ul";
  const indent = `indent-${Math.min(Number(part.indent) || 0, 4)}`;
  return h(tag, { class: indent, start: part.offset ? part.offset + 1 : null }, ...items);
}

/**
 * @param {Part[]} parts
 * @param {Context} context
 * @returns {Node[]}
 */
function inlines(parts, context) {
  return parts.map((part) => styled(inline(part, context), part.style ?? {}));
}

/**
 * @param {Part} part
 * @param {Context} context
 * @returns {Node}
 */
function inline(part, context) {
  switch (part.type) {
    case "text":
      return document.createTextNode(part.text);
    case "link":
      return link(part.url, part.text || part.url, context);
    case "user":
      return person(part.user_id, context);
    case "channel":
      return place(part.channel_id, "", context);
    case "usergroup":
      return group(part.usergroup_id, "", context);
    case "broadcast":
      return broadcast(part.range);
    case "emoji":
      return document.createTextNode(emoji(part));
    case "color":
      return document.createTextNode(part.value);
    case "date":
      return document.createTextNode(
        dateToken(String(part.timestamp), part.format) ?? part.fallback ?? "",
      );
    default:
      return unknown(part.type);
  }
}

/** @param {Part} part */
function emoji(part) {
  const points = String(part.unicode ?? "")
    .split("-")
    .map((point) => Number.parseInt(point, 16));
  const known = points.every((point) => point > 0 && point < 0x110000);
  return known ? String.fromCodePoint(...points) : `:${part.name}:`;
}

/**
 * @param {Node} node
 * @param {Record<string, boolean>} style
 */
function styled(node, style) {
  return Object.entries(MARKS).reduce(
    (inside, [name, tag]) => (style[name] ? h(tag, {}, inside) : inside),
    node,
  );
}

/** @param {string} type */
function unknown(type) {
  return h("span", { class: "unknown" }, `${type} is not shown here`);
}
