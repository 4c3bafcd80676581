/** Puts the parts together, and draws all of them whenever something changed. */

import { ActError } from "./api.js";
import { Acts, markActs } from "./acts.js";
import { renderBlocks } from "./blocks.js";
import { Composer } from "./composer.js";
import { h, icon, reconcile } from "./dom.js";
import { drawMessages } from "./messages.js";
import { Modals } from "./modals.js";
import { Scroll } from "./scroll.js";
import { drawSidebar } from "./sidebar.js";
import { HOME, Store } from "./state.js";
import { Notices } from "./toasts.js";
import { drawTop } from "./top.js";

/** @param {string} id */
const find = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

class Page {
  /** @param {Store} store */
  constructor(store) {
    this.store = store;
    this.acts = new Acts(store);
    this.modals = new Modals(store, this.acts);
    this.composer = new Composer(
      /** @type {HTMLFormElement} */ (find("composer")),
      store,
      this.acts,
    );
    this.notices = new Notices();
    this.list = find("messages");
    this.scroll = new Scroll(this.list, find("newest"));
    this.at = "";
  }

  draw() {
    const { store } = this;
    drawSidebar(store);
    drawTop(store);
    this.scroll.keep(() => this.#drawPlace());
    this.composer.draw();
    this.modals.draw();
    this.notices.tell(store.me, store.seen.notices);
    const trouble = find("trouble");
    trouble.hidden = store.connected;
    trouble.textContent = store.connected ? "" : "The local Slack does not answer. Trying again…";
    markActs(store);
  }

  #drawPlace() {
    const { store } = this;
    const { channel, where, me } = store;
    const at = `${me} ${where.channel} ${where.ts}`;
    const moved = at !== this.at;
    this.at = at;
    if (moved) this.scroll.toEnd();
    if (!channel) {
      if (moved) void this.acts.openHome();
      this.list.setAttribute("aria-label", "Home");
      this.list.removeAttribute("role");
      reconcile(this.list, [homeItem(store, this.acts)]);
      return;
    }
    this.list.setAttribute("role", "log");
    this.list.setAttribute("aria-label", `Messages in ${store.directory.title(channel, me)}`);
    const reply = this.composer.reply.bind(this.composer);
    drawMessages(this.list, channel, { store, acts: this.acts, reply });
    if (channel.messages.length === 0) this.list.append(empty("Nothing was said here yet."));
    if (channel.is_archived) this.list.append(empty("This channel is archived.", "archive"));
    if (moved && where.ts) this.scroll.to(where.ts);
  }
}

/**
 * @param {string} text
 * @param {"archive" | "home"} [mark]
 */
function empty(text, mark) {
  const note = h("p", { class: "empty" }, mark ? icon(mark) : null, text);
  note.dataset.key = `empty ${text}`;
  return note;
}

/**
 * @param {Store} store
 * @param {Acts} acts
 */
function homeItem(store, acts) {
  const { home } = store.seen;
  const make = () => {
    if (!home) {
      const said = empty(
        `${store.directory.name(store.directory.app.bot_user)} shows nothing on its Home tab.`,
        "home",
      );
      return h(
        "div",
        {},
        said,
        h("p", { class: "failure", role: "alert", "data-failure": HOME, hidden: true }),
      );
    }
    const setting = {
      place: { view_id: home.id },
      values: home.state.values,
      context: store.context,
      acts,
    };
    return h("div", { class: "home" }, renderBlocks(home.blocks, setting));
  };
  return { key: "home", mark: JSON.stringify([store.me, home]), make };
}

try {
  /** @type {Page | null} */
  let page = null;
  const store = await Store.open(() => page?.draw());
  page = new Page(store);
  store.draw();
} catch (error) {
  const trouble = find("trouble");
  trouble.hidden = false;
  trouble.textContent = error instanceof ActError ? error.message : `The page failed: ${error}`;
  throw error;
}
