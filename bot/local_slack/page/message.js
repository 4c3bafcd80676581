/** One message: who, when, and what was said or put on a card. */

import { renderBlocks } from "./blocks.js";
import { avatar } from "./directory.js";
import { h, icon } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";
import { clock, dateOf, whole } from "./time.js";

/** @typedef {import("./types.js").Message} Message */
/** @typedef {import("./dom.js").Item} Item */

/**
 * @typedef {object} Tools
 * @property {import("./state.js").Store} store
 * @property {import("./acts.js").Acts} acts
 * @property {(root: Message) => void} reply begins a reply in the thread of a message
 */

/** @typedef {{ together: boolean, reply: boolean }} Shape under its author's last; in a thread */

export function onlyYou() {
  return h("p", { class: "only" }, icon("eye"), "Only visible to you");
}

/**
 * @param {Message} message
 * @param {Shape} shape
 * @param {Tools} tools
 * @returns {Item}
 */
export function messageItem(message, shape, tools) {
  const { store } = tools;
  const seen = store.seen.channels.map((one) => one.id);
  const mark = JSON.stringify([
    message,
    shape,
    store.me,
    seen,
    store.directory.mark,
    store.where.ts === message.ts,
  ]);
  return { key: message.ts, mark, make: () => render(message, shape, tools) };
}

/**
 * @param {Message} message
 * @param {Shape} shape
 * @param {Tools} tools
 */
function render(message, { together, reply }, tools) {
  const { store } = tools;
  const { directory } = store;
  const at = dateOf(message.ts);
  const name = directory.name(message.user);
  const isCard = Boolean(message.blocks?.length);
  const classes = [
    "message",
    together && "together",
    reply && "reply",
    message.is_ephemeral && "private",
    store.where.ts === message.ts && "sought",
  ];
  const time = h("time", { datetime: at.toISOString(), title: whole(at) }, clock(at));
  return h(
    "article",
    {
      class: classes.filter(Boolean).join(" "),
      tabindex: "-1",
      "data-ts": message.ts,
      "aria-label": `${name}, ${clock(at)}`,
    },
    together ? time : avatar(directory, message.user),
    h(
      "div",
      { class: "said" },
      message.is_ephemeral && onlyYou(),
      !together &&
        h(
          "p",
          { class: "by" },
          h("bdi", { class: "name" }, name),
          badge(directory.kind(message.user)),
          time,
          isCard && edited(message),
        ),
      body(message, tools),
    ),
    !message.is_ephemeral && !reply && replyButton(message, tools),
  );
}

/** @param {string} kind */
function badge(kind) {
  return kind && h("span", { class: "badge" }, kind);
}

/**
 * @param {Message} message
 * @param {Tools} tools
 */
function body(message, { store, acts }) {
  if (!message.blocks?.length) {
    return h(
      "div",
      { class: "text", dir: "auto" },
      mrkdwn(message.text, store.context),
      edited(message),
    );
  }
  const place = { channel: store.where.channel, ts: message.ts };
  const setting = { place, values: message.state.values, context: store.context, acts };
  return h("div", { class: "card" }, renderBlocks(message.blocks, setting));
}

/** @param {Message} message */
function edited({ edited: last }) {
  return last && h("span", { class: "edited", title: whole(dateOf(last.ts)) }, " (edited)");
}

/**
 * @param {Message} message
 * @param {Tools} tools
 */
function replyButton(message, { reply }) {
  const start = () => reply(message);
  return h(
    "button",
    {
      type: "button",
      class: "reply-to",
      "aria-label": "Reply",
      title: "Reply",
      on: { click: start },
    },
    icon("reply"),
  );
}
