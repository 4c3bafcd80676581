/**
 * Slack's mrkdwn, as text nodes and a handful of elements.
 *
 * docs.slack.dev/messaging/formatting-message-text. Emoji names (`:tada:`) stay as they are.
 */

import { fragment, h } from "./dom.js";
import { entity, inCode, token } from "./tokens.js";

/** @typedef {import("./tokens.js").Context} Context */

const FENCE = /```([\s\S]+?)```/g;
const QUOTED = /^(?:&gt;|>)/;
const QUOTED_TO_THE_END = /^(?:&gt;&gt;&gt;|>>>)\s?/m;
const STYLES = { "*": "strong", _: "em", "~": "s" };
const WORD = /[\p{L}\p{N}]/u;
const URL_HERE = /^https?:\/\/[^\s<>]*[^\s<>.,:;!?'")\]]/;
const DEEPEST = 6;
const FARTHEST = 3000;

/**
 * @param {string} text
 * @param {Context} context
 * @param {{ verbatim?: boolean }} [how] verbatim: no bare URL becomes a link
 * @returns {DocumentFragment}
 */
export function mrkdwn(text, context, { verbatim = false } = {}) {
  const made = document.createDocumentFragment();
  let at = 0;
  for (const fence of text.matchAll(FENCE)) {
    made.append(paragraphs(text.slice(at, fence.index).replace(/\n$/, ""), context, verbatim));
    made.append(h("pre", {}, inCode(fence[1].replace(/^\n|\n$/g, ""), context)));
    at = fence.index + fence[0].length;
    if (text[at] === "\n") at += 1;
  }
  made.append(paragraphs(text.slice(at), context, verbatim));
  return made;
}

/**
 * @param {string} text
 * @param {Context} context
 * @param {boolean} verbatim
 * @returns {DocumentFragment}
 */
function paragraphs(text, context, verbatim) {
  const rest = QUOTED_TO_THE_END.exec(text);
  if (rest) {
    const quoted = h(
      "blockquote",
      {},
      inline(text.slice(rest.index + rest[0].length), context, verbatim),
    );
    return fragment(paragraphs(text.slice(0, rest.index), context, verbatim), quoted);
  }
  const made = document.createDocumentFragment();
  for (const run of runs(text.split("\n"))) {
    const body = inline(run.lines.join("\n"), context, verbatim);
    made.append(run.quoted ? h("blockquote", {}, body) : body);
  }
  return made;
}

/**
 * Consecutive lines that are all quoted, or all not.
 *
 * @param {string[]} lines
 */
function runs(lines) {
  /** @type {{ quoted: boolean, lines: string[] }[]} */
  const found = [];
  for (const line of lines) {
    const quoted = QUOTED.test(line);
    const last = found.at(-1);
    if (last?.quoted !== quoted) found.push({ quoted, lines: [] });
    found.at(-1)?.lines.push(quoted ? line.replace(QUOTED, "").replace(/^ /, "") : line);
  }
  return found.filter((run) => run.quoted || run.lines.join("") !== "" || found.length === 1);
}

/**
 * @param {string} text
 * @param {Context} context
 * @param {boolean} verbatim
 * @param {number} [depth]
 * @returns {DocumentFragment}
 */
function inline(text, context, verbatim, depth = 0) {
  const made = document.createDocumentFragment();
  let plain = "";
  const put = (/** @type {Node} */ node) => {
    if (plain) made.append(plain);
    plain = "";
    made.append(node);
  };
  for (let at = 0; at < text.length;) {
    const found =
      code(text, at, context) ??
      special(text, at, context) ??
      (depth < DEEPEST ? styled(text, at, context, verbatim, depth) : null) ??
      (verbatim ? null : bareUrl(text, at, context));
    if (found) {
      put(found.node);
      at = found.end;
      continue;
    }
    const [shown, length] = entity(text, at);
    plain += shown;
    at += length;
  }
  if (plain) made.append(plain);
  return made;
}

/** @typedef {{ node: Node, end: number } | null} Found */

/**
 * @param {string} text
 * @param {number} at
 * @param {Context} context
 * @returns {Found}
 */
function code(text, at, context) {
  if (text[at] !== "`") return null;
  const end = closing(text, at, "`");
  if (end < 0) return null;
  return { node: h("code", {}, inCode(text.slice(at + 1, end), context)), end: end + 1 };
}

/**
 * @param {string} text
 * @param {number} at
 * @param {Context} context
 * @returns {Found}
 */
function special(text, at, context) {
  if (text[at] !== "<") return null;
  const end = text.indexOf(">", at);
  const node = end < 0 ? null : token(text.slice(at + 1, end), context);
  return node && { node, end: end + 1 };
}

/**
 * @param {string} text
 * @param {number} at
 * @param {Context} context
 * @param {boolean} verbatim
 * @param {number} depth
 * @returns {Found}
 */
function styled(text, at, context, verbatim, depth) {
  const mark = text[at];
  if (!Object.hasOwn(STYLES, mark) || WORD.test(text[at - 1] ?? "")) return null;
  if (!text[at + 1] || /\s/.test(text[at + 1])) return null;
  for (let end = closing(text, at, mark); end > 0; end = closing(text, end, mark, at)) {
    if (/\s/.test(text[end - 1]) || WORD.test(text[end + 1] ?? "")) continue;
    const inside = inline(text.slice(at + 1, end), context, verbatim, depth + 1);
    return { node: h(STYLES[/** @type {"*"} */ (mark)], {}, inside), end: end + 1 };
  }
  return null;
}

/**
 * @param {string} text
 * @param {number} at
 * @param {Context} context
 * @returns {Found}
 */
function bareUrl(text, at, context) {
  if (text[at] !== "h" || WORD.test(text[at - 1] ?? "")) return null;
  const found = URL_HERE.exec(text.slice(at, at + FARTHEST));
  const node = found && token(found[0], context);
  return found && node && { node, end: at + found[0].length };
}

/**
 * Where the next mark after `from` stands on the same line, with something in between; or -1.
 *
 * @param {string} text
 * @param {number} from
 * @param {string} mark
 * @param {number} [opened] where the pair began
 */
function closing(text, from, mark, opened = from) {
  for (let at = from + 1; at < text.length && at - opened < FARTHEST; at += 1) {
    if (text[at] === "\n") return -1;
    if (text[at] === mark && at > opened + 1) return at;
  }
  return -1;
}
