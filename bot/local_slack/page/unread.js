/** What each person has not read yet, told from the feed of changes; kept while the tab lives. */

/** @typedef {import("./types.js").Change} Change */

const KEPT_AS = "local-slack.read";
const NEW = new Set(["message_posted", "ephemeral"]);

export class Unread {
  /** @type {{ seq: number, channel: string, user: string }[]} */
  #posted = [];
  /** @type {Record<string, number>} the newest change that a person saw in a channel */
  #read = restore();
  #newest = 0;

  /** @param {Change} change */
  take(change) {
    this.#newest = Math.max(this.#newest, change.seq);
    if (!NEW.has(change.kind) || !change.channel) return;
    this.#posted.push({ seq: change.seq, channel: change.channel, user: change.user ?? "" });
  }

  /** Forgets what was read: those marks are of another server. */
  forget() {
    this.#read = {};
    this.#keep();
  }

  /**
   * @param {string} user
   * @param {string} channel
   */
  read(user, channel) {
    const key = `${user} ${channel}`;
    if (this.#read[key] === this.#newest) return;
    this.#read[key] = this.#newest;
    this.#keep();
  }

  /**
   * @param {string} user
   * @param {string} channel
   */
  count(user, channel) {
    const read = this.#read[`${user} ${channel}`] ?? 0;
    return this.#posted.filter(
      (one) => one.seq > read && one.channel === channel && ["", user].includes(one.user),
    ).length;
  }

  /** Tells whether a mark was left by a server that is gone. */
  isAhead() {
    return Object.values(this.#read).some((seq) => seq > this.#newest);
  }

  #keep() {
    try {
      sessionStorage.setItem(KEPT_AS, JSON.stringify(this.#read));
    } catch {
      // Without storage, a reload shows everything as new.
    }
  }
}

/** @returns {Record<string, number>} */
function restore() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT_AS) ?? "{}");
  } catch {
    return {};
  }
}
