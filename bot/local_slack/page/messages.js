/** What is said in a channel, oldest first: days, messages, threads, private lines. */

import { h, icon, reconcile } from "./dom.js";
import { carryEntries } from "./entries.js";
import { messageItem, onlyYou } from "./message.js";
import { clock, dateOf, dayLabel } from "./time.js";

/** @typedef {import("./types.js").Channel} Channel */
/** @typedef {import("./types.js").Message} Message */
/** @typedef {import("./types.js").Notice} Notice */
/** @typedef {import("./dom.js").Item} Item */
/** @typedef {import("./message.js").Tools} Tools */

const TOGETHER_S = 5 * 60;

/** The threads that a person folded. */
const folded = new Set();

/**
 * @param {HTMLElement} list
 * @param {Channel} channel
 * @param {Tools} tools
 */
export function drawMessages(list, channel, tools) {
  reconcile(list, items(channel, tools), carryEntries);
}

/**
 * @param {Channel} channel
 * @param {Tools} tools
 * @returns {Item[]}
 */
function items(channel, tools) {
  const { store } = tools;
  const lines = [...store.seen.notices, ...store.lines.filter((line) => line.user === store.me)];
  const here = lines
    .filter((line) => line.channel === channel.id)
    .map((line, index) => ({ at: line.at, line, index }));
  const roots = threads(channel.messages);
  const all = [...roots.map((root) => ({ at: Number(root.message.ts), root })), ...here];
  all.sort((one, other) => one.at - other.at);

  /** @type {Item[]} */
  const made = [];
  let day = "";
  /** @type {Message | null} */
  let before = null;
  for (const one of all) {
    const label = dayLabel(dateOf(String(one.at)));
    if (label !== day) made.push(dayItem(label));
    if (label !== day || "line" in one) before = null;
    day = label;
    if ("line" in one) {
      made.push(lineItem(one.line, one.index));
    } else {
      made.push(...threadItems(one.root, before, tools));
      before = one.root.replies.length > 0 ? null : one.root.message;
    }
  }
  return made;
}

/** @typedef {{ message: Message, replies: Message[] }} Thread */

/**
 * @param {Message[]} messages
 * @returns {Thread[]}
 */
function threads(messages) {
  /** @type {Map<string, Thread>} */
  const roots = new Map();
  for (const message of messages) {
    const root =
      message.thread_ts && message.thread_ts !== message.ts
        ? roots.get(message.thread_ts)
        : undefined;
    if (root) root.replies.push(message);
    else roots.set(message.ts, { message, replies: [] });
  }
  return [...roots.values()];
}

/**
 * @param {Thread} thread
 * @param {Message | null} before
 * @param {Tools} tools
 * @returns {Item[]}
 */
function threadItems({ message, replies }, before, tools) {
  const made = [
    messageItem(message, { together: isTogether(before, message), reply: false }, tools),
  ];
  if (replies.length === 0) return made;
  const open = !folded.has(message.ts);
  made.push(foldItem(message.ts, replies.length, open, tools));
  if (!open) return made;
  replies.forEach((one, index) => {
    const together = isTogether(replies[index - 1] ?? null, one);
    made.push(messageItem(one, { together, reply: true }, tools));
  });
  return made;
}

/**
 * @param {Message | null} before
 * @param {Message} message
 */
function isTogether(before, message) {
  if (!before || before.user !== message.user || before.is_ephemeral || message.is_ephemeral)
    return false;
  if (before.blocks || message.blocks) return false;
  return Number(message.ts) - Number(before.ts) < TOGETHER_S;
}

/**
 * @param {string} label
 * @returns {Item}
 */
function dayItem(label) {
  const make = () => h("div", { class: "day", role: "separator" }, h("span", {}, label));
  return { key: `day ${label}`, mark: label, make };
}

/**
 * @param {Notice} line
 * @param {number} index
 * @returns {Item}
 */
function lineItem(line, index) {
  const make = () =>
    h(
      "div",
      { class: "line", role: "note" },
      icon("warn"),
      h(
        "div",
        {},
        onlyYou(),
        h("p", { dir: "auto" }, line.text),
        line.detail && h("p", { class: "detail", dir: "auto" }, line.detail),
      ),
      h(
        "time",
        { datetime: dateOf(String(line.at)).toISOString() },
        clock(dateOf(String(line.at))),
      ),
    );
  return { key: `line ${line.at} ${index}`, mark: line.text, make };
}

/**
 * @param {string} ts
 * @param {number} count
 * @param {boolean} open
 * @param {Tools} tools
 * @returns {Item}
 */
function foldItem(ts, count, open, { store }) {
  const toggle = () => {
    if (!folded.delete(ts)) folded.add(ts);
    store.draw();
  };
  const words = `${count} ${count === 1 ? "reply" : "replies"}`;
  const make = () =>
    h(
      "button",
      { type: "button", class: "fold", "aria-expanded": String(open), on: { click: toggle } },
      icon("down"),
      words,
    );
  return { key: `fold ${ts}`, mark: `${words} ${open}`, make };
}
