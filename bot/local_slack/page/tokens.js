/** What stands in angle brackets in mrkdwn: mentions, links, dates; and the three entities. */

import { fragment, h } from "./dom.js";
import { dateOf, dateToken, whole } from "./time.js";

/**
 * @typedef {object} Context what text and blocks need to know
 * @property {import("./directory.js").Directory} directory
 * @property {string} me
 * @property {import("./types.js").Channel[]} visible the channels this person is in
 */

/** @type {Record<string, string>} */
const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">" };
const LINK = /^(?:https?:\/\/|mailto:|tel:)/i;
const WIDE = new Set(["here", "channel", "everyone"]);

/**
 * Returns what is shown for the character at a place, and how long it is in the source.
 *
 * @param {string} text
 * @param {number} at
 * @returns {[string, number]}
 */
export function entity(text, at) {
  if (text[at] === "&") {
    for (const [source, shown] of Object.entries(ENTITIES)) {
      if (text.startsWith(source, at)) return [shown, source.length];
    }
  }
  return [text[at], 1];
}

/** @param {string} text */
export function decode(text) {
  return text.replace(/&(?:amp|lt|gt);/g, (one) => ENTITIES[one]);
}

/** @param {string} text */
export function encode(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * In code, what stands in angle brackets keeps its words and loses its effect.
 *
 * @param {string} text
 * @param {Context} context
 */
export function inCode(text, context) {
  const parts = text.split(/(<[^<>]*>)/).map((part) => {
    const node = /^<.*>$/s.test(part) ? token(part.slice(1, -1), context) : null;
    return node?.textContent ?? decode(part);
  });
  return parts.join("");
}

/**
 * Returns the element for `<inside>`, null if it is nothing that Slack knows.
 *
 * @param {string} inside
 * @param {Context} context
 * @returns {Node | null}
 */
export function token(inside, context) {
  const bar = inside.indexOf("|");
  const name = bar < 0 ? inside : inside.slice(0, bar);
  const label = bar < 0 ? "" : decode(inside.slice(bar + 1));
  if (name.startsWith("@")) return person(name.slice(1), context);
  if (name.startsWith("#")) return place(name.slice(1), label, context);
  if (name.startsWith("!")) return command(name.slice(1), label, context);
  return LINK.test(name) ? link(decode(name), label || decode(name), context) : null;
}

/**
 * @param {string} id
 * @param {Context} context
 */
export function person(id, { directory, me }) {
  return h(
    "span",
    { class: id === me ? "mention me" : "mention" },
    "@",
    h("bdi", {}, directory.name(id)),
  );
}

/**
 * @param {string} id
 * @param {string} label
 * @param {Context} context
 */
export function place(id, label, { directory, visible, me }) {
  const channel = visible.find((one) => one.id === id);
  if (!channel) return h("span", { class: "mention" }, `#${label || "private channel"}`);
  const href = `#user=${me}&channel=${id}`;
  return h("a", { class: "mention", href }, `#${directory.title(channel, me)}`);
}

/** @param {string} who */
export function broadcast(who) {
  return h("span", { class: "mention me" }, `@${who}`);
}

/**
 * @param {string} handle
 * @param {string} id
 * @param {Context} context
 */
export function group(id, handle, { directory }) {
  const known = directory.groups.get(id)?.handle ?? id;
  return h("span", { class: "mention" }, handle || `@${known}`);
}

/**
 * A link; one that leads to a message of this workspace stays in the page.
 *
 * @param {string} url
 * @param {string} label
 * @param {Context} context
 */
export function link(url, label, { directory, me }) {
  if (!LINK.test(url)) return fragment(label);
  const inside = directory.inside(url);
  if (inside) {
    const href = `#user=${me}&channel=${inside.channel}&ts=${inside.ts}`;
    return h("a", { href }, label);
  }
  const away = { href: url, title: url, target: "_blank", rel: "noopener noreferrer" };
  return h("a", away, label);
}

/**
 * @param {string} name
 * @param {string} label
 * @param {Context} context
 */
function command(name, label, context) {
  const [kind, ...rest] = name.split("^");
  if (WIDE.has(kind)) return broadcast(kind);
  if (kind === "subteam") return group(rest[0] ?? "", label, context);
  if (kind === "date") return date(rest, label, context);
  return h("span", { class: "mention" }, label || `<${name}>`);
}

/**
 * @param {string[]} parts seconds, pattern and a link if there is one
 * @param {string} fallback
 * @param {Context} context
 */
function date([seconds = "", pattern = "", url = ""], fallback, context) {
  const shown = dateToken(seconds, pattern);
  if (shown === null) return fragment(fallback);
  if (url) return link(decode(url), shown, context);
  return h(
    "time",
    { datetime: dateOf(seconds).toISOString(), title: whole(dateOf(seconds)) },
    shown,
  );
}
