/** What the page knows: the workspace, what one person sees, where they are, what is under way. */

import { fetchSeen, fetchWorkspace, watch } from "./api.js";
import { Directory } from "./directory.js";
import { Unread } from "./unread.js";

/** @typedef {import("./types.js").Change} Change */
/** @typedef {import("./types.js").Channel} Channel */
/** @typedef {import("./types.js").Notice} Notice */
/** @typedef {import("./types.js").Seen} Seen */
/** @typedef {{ user: string, channel: string, ts: string }} Where */

/** The pseudo-channel of the app's Home tab. */
export const HOME = "home";

const QUIET = new Set(["call", "delivery", "sockets"]);

export class Store {
  /** @type {Directory} */
  directory;
  /** @type {Seen} */
  seen;
  /** @type {Where} */
  where = { user: "", channel: "", ts: "" };
  connected = true;
  unread = new Unread();
  /** @type {Set<string>} what was pressed and not yet acknowledged, by person and place */
  pending = new Set();
  /** @type {Map<string, string>} what went wrong last, by person and place */
  failures = new Map();
  /** @type {Notice[]} private lines that come from this page and not from the server */
  lines = [];

  /** @type {() => void} */
  #draw;
  #loading = false;
  #again = false;
  #stale = false;

  /**
   * @param {Directory} directory
   * @param {Seen} seen
   * @param {Where} where
   * @param {() => void} draw
   */
  constructor(directory, seen, where, draw) {
    this.directory = directory;
    this.seen = seen;
    this.where = where;
    this.#draw = draw;
  }

  /**
   * Reads everything once, and then again whenever something changes.
   *
   * @param {() => void} draw
   */
  static async open(draw) {
    const directory = new Directory(await fetchWorkspace());
    const where = asked(directory);
    const store = new Store(directory, await fetchSeen(where.user), where, draw);
    store.#settle();
    window.addEventListener("hashchange", () => store.#moved());
    document.addEventListener("visibilitychange", () => store.draw());
    watch({
      change: (change) => store.#take(change),
      open: () => store.#found(),
      lost: () => store.#lost(),
    });
    return store;
  }

  get me() {
    return this.where.user;
  }

  /** The channel that is shown; null while the Home tab is. */
  get channel() {
    return this.seen.channels.find((one) => one.id === this.where.channel) ?? null;
  }

  /** The DM with the app, if there is one. */
  get direct() {
    const bot = this.directory.app.bot_user;
    const isMine = (/** @type {Channel} */ one) => this.directory.members(one.id).includes(bot);
    return this.seen.channels.find((one) => one.is_im && isMine(one)) ?? null;
  }

  /** What mentions, links and selects need. */
  get context() {
    return { directory: this.directory, me: this.me, visible: this.seen.channels };
  }

  /** @param {Partial<Where>} to */
  go(to) {
    location.hash = address({ ...this.where, ts: "", ...to });
  }

  draw() {
    if (!document.hidden) this.unread.read(this.me, this.where.channel);
    this.#draw();
  }

  /**
   * Says something to this person alone, without the server.
   *
   * @param {string} text
   * @param {string} [detail]
   */
  say(text, detail = "") {
    const { user, channel } = this.where;
    this.lines.push({ at: Date.now() / 1000, user, text, detail, channel });
    this.draw();
  }

  /** Fetches what this person sees; one fetch at a time, and one more if it was outdated. */
  async refresh() {
    this.#again = true;
    if (this.#loading) return;
    this.#loading = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#load();
      }
      this.draw();
    } catch {
      this.#lost();
    } finally {
      this.#loading = false;
    }
  }

  async #load() {
    if (this.#stale) {
      this.#stale = false;
      this.directory = new Directory(await fetchWorkspace());
    }
    const user = this.me;
    const seen = await fetchSeen(user);
    // Another server counts from one again, and knows nothing of what is shown here.
    if (seen.seq < this.seen.seq) location.reload();
    if (user !== this.me) return;
    this.seen = seen;
    this.#settle();
  }

  /** @param {Change} change */
  #take(change) {
    this.unread.take(change);
    const unheard = change.channel && !this.directory.channels.has(change.channel);
    this.#stale ||= change.kind === "world" || Boolean(unheard);
    if (change.seq <= this.seen.seq) {
      if (change.seq === this.seen.seq) this.#caughtUp();
    } else if (!QUIET.has(change.kind)) {
      void this.refresh();
    }
  }

  /** All that had happened before the page was opened is told. */
  #caughtUp() {
    if (this.unread.isAhead()) this.unread.forget();
    this.draw();
  }

  #found() {
    if (this.connected) return;
    this.connected = true;
    this.#stale = true;
    void this.refresh();
  }

  #lost() {
    this.connected = false;
    this.draw();
  }

  #moved() {
    // "Skip to the messages" leads to a place in the page, not to a channel.
    if (!location.hash.includes("=")) {
      history.replaceState(null, "", address(this.where));
      return;
    }
    const where = asked(this.directory);
    const another = where.user !== this.me;
    this.where = where;
    if (another) void this.refresh();
    else {
      this.#settle();
      this.draw();
    }
  }

  /** Stays in a channel that this person is in. */
  #settle() {
    const { channel } = this.where;
    const known = channel === HOME || this.seen.channels.some((one) => one.id === channel);
    if (!known) this.where = { ...this.where, channel: this.seen.channels[0]?.id ?? HOME, ts: "" };
    history.replaceState(null, "", address(this.where));
  }
}

/**
 * @param {Directory} directory
 * @returns {Where}
 */
function asked(directory) {
  const given = new URLSearchParams(location.hash.slice(1));
  const user = directory.people.find((one) => one.id === given.get("user")) ?? directory.people[0];
  return {
    user: user?.id ?? "",
    channel: given.get("channel") ?? "",
    ts: given.get("ts") ?? "",
  };
}

/** @param {Where} where */
function address({ user, channel, ts }) {
  return `#user=${user}&channel=${channel}${ts ? `&ts=${ts}` : ""}`;
}
