/** Text objects: plain_text stays what it is, mrkdwn is read. */

import { h } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";

/**
 * @param {import("./types.js").Text} text
 * @param {import("./tokens.js").Context} context
 * @param {string} [tag]
 */
export function textObject(text, context, tag = "div") {
  const shown = text.type === "mrkdwn" ? mrkdwn(text.text, context, text) : text.text;
  return h(tag, { class: "text", dir: "auto" }, shown);
}
