/** The dialog that asks once more before something is pressed. */

import { h } from "./dom.js";
import { textObject } from "./texts.js";

/** @typedef {import("./types.js").Confirm} Confirm */

/**
 * @param {Confirm} confirm
 * @param {import("./tokens.js").Context} context
 * @returns {Promise<boolean>}
 */
export function confirmed(confirm, context) {
  const style = confirm.style === "danger" ? "danger" : "primary";
  const no = h("button", { type: "button", class: "button" }, confirm.deny.text);
  const yes = h("button", { type: "button", class: `button ${style}` }, confirm.confirm.text);
  const dialog = /** @type {HTMLDialogElement} */ (
    h(
      "dialog",
      {
        class: "sheet confirm",
        "aria-labelledby": "confirm-title",
        "aria-describedby": "confirm-text",
      },
      h("header", {}, h("h2", { id: "confirm-title", dir: "auto" }, confirm.title.text)),
      h("div", { class: "body", id: "confirm-text" }, textObject(confirm.text, context)),
      h("footer", {}, no, yes),
    )
  );
  document.body.append(dialog);
  dialog.showModal();
  no.focus();
  return new Promise((resolve) => {
    yes.addEventListener("click", () => dialog.close("yes"));
    no.addEventListener("click", () => dialog.close("no"));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}
