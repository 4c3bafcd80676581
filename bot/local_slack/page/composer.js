/** Where one writes: a message, a reply in a thread, or a slash command. */

import { h, icon } from "./dom.js";
import { encode } from "./tokens.js";

/** @typedef {import("./state.js").Store} Store */
/** @typedef {import("./types.js").Message} Message */

export class Composer {
  /** @type {Map<string, string>} what is written and not sent, by person and channel */
  #drafts = new Map();
  #at = "";
  /** @type {Message | null} */
  #thread = null;

  /**
   * @param {HTMLFormElement} form
   * @param {Store} store
   * @param {import("./acts.js").Acts} acts
   */
  constructor(form, store, acts) {
    this.form = form;
    this.store = store;
    this.acts = acts;
    this.hint = h("div", { class: "hints", role: "status" });
    this.field = /** @type {HTMLTextAreaElement} */ (
      h("textarea", {
        rows: 1,
        id: "write",
        "data-press": "composer",
        autocomplete: "off",
        dir: "auto",
      })
    );
    const send = h(
      "button",
      {
        type: "submit",
        class: "button square send",
        "aria-label": "Send the message",
        "data-press": "composer",
      },
      icon("send"),
    );
    form.append(this.hint, h("div", { class: "box" }, this.field, send));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send();
    });
    this.field.addEventListener("keydown", (event) => this.#key(event));
    this.field.addEventListener("input", () => this.#drawHint());
  }

  draw() {
    const { me, where, channel } = this.store;
    this.form.hidden = !channel || channel.is_archived;
    const at = `${me} ${where.channel}`;
    if (!channel || at === this.#at) return;
    this.#drafts.set(this.#at, this.field.value);
    this.#at = at;
    this.#thread = null;
    this.field.value = this.#drafts.get(at) ?? "";
    const name = this.store.directory.title(channel, me);
    const place = channel.is_im ? name : `#${name}`;
    this.field.placeholder = `Message ${place}, or ${this.store.directory.app.commands[0] ?? "a command"}`;
    this.field.setAttribute("aria-label", `Message to ${place}`);
    this.#drawHint();
  }

  /** @param {Message} root */
  reply(root) {
    this.#thread = root;
    this.#drawHint();
    this.field.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing) return;
    const command = this.#offered()[0];
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.form.requestSubmit();
    } else if (event.key === "Tab" && command && !event.shiftKey) {
      event.preventDefault();
      this.#complete(command);
    } else if (event.key === "Escape" && this.#thread) {
      this.#thread = null;
      this.#drawHint();
    }
  }

  async #send() {
    const text = this.field.value.trim();
    if (!text) return;
    this.field.value = "";
    const thread = this.#thread;
    this.#thread = null;
    this.#drawHint();
    const said = text.startsWith("/") ? text : this.#mention(encode(text));
    await this.acts.write(said, thread?.thread_ts ?? thread?.ts);
  }

  /**
   * As Slack's client does, a name becomes the person.
   *
   * @param {string} text
   */
  #mention(text) {
    const known = new Map(
      [...this.store.directory.users.values()].map((user) => [user.name, user.id]),
    );
    return text.replace(/(?<![\w@])@([\w.-]+)/g, (whole, name) =>
      known.has(name) ? `<@${known.get(name)}>` : whole,
    );
  }

  /** The commands that what is written may become. */
  #offered() {
    const text = this.field.value;
    if (!text.startsWith("/") || text.includes(" ")) return [];
    return this.store.directory.app.commands.filter((one) => one.startsWith(text));
  }

  /** @param {string} command */
  #complete(command) {
    this.field.value = `${command} `;
    this.field.focus();
    this.#drawHint();
  }

  #drawHint() {
    const commands = this.#offered().map((command) =>
      h(
        "button",
        { type: "button", class: "button", on: { click: () => this.#complete(command) } },
        command,
        h("kbd", {}, "Tab"),
      ),
    );
    const cancel = () => {
      this.#thread = null;
      this.#drawHint();
      this.field.focus();
    };
    const thread = this.#thread && [
      h("span", {}, "Reply to ", h("bdi", {}, this.store.directory.name(this.#thread.user))),
      h(
        "button",
        {
          type: "button",
          class: "button square",
          "aria-label": "Do not reply in the thread",
          on: { click: cancel },
        },
        icon("close"),
      ),
    ];
    this.hint.replaceChildren(...commands, ...(thread || []));
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight, 200)}px`;
  }
}
