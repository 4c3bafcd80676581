/** Who and what there is, by id: names, avatars, and which links lead into the page itself. */

import { h } from "./dom.js";

/** @typedef {import("./types.js").Workspace} Workspace */
/** @typedef {import("./types.js").User} User */
/** @typedef {import("./types.js").Channel} Channel */

const HUES = 8;

export class Directory {
  /** @param {Workspace} workspace */
  constructor(workspace) {
    this.workspace = workspace;
    this.users = new Map(workspace.users.map((user) => [user.id, user]));
    this.channels = new Map(workspace.channels.map((channel) => [channel.id, channel]));
    this.groups = new Map(workspace.groups.map((group) => [group.id, group]));
    this.app = workspace.app;
  }

  /** Everyone whom one can be here. */
  get people() {
    return this.workspace.users.filter((user) => !user.is_bot && !user.deleted);
  }

  /** @param {string} id */
  name(id) {
    const user = this.users.get(id);
    return user ? user.real_name || user.name : id;
  }

  /**
   * What sets someone apart from a usual member, in a word or two; empty for a usual member.
   *
   * @param {string} id
   */
  kind(id) {
    const user = this.users.get(id);
    if (!user) return "unknown";
    if (user.deleted) return "deactivated";
    if (user.is_bot) return "app";
    if (user.team_id && user.team_id !== this.workspace.team.id) return "external";
    return user.is_restricted ? "guest" : "";
  }

  /**
   * @param {Channel} channel
   * @param {string} me
   */
  title(channel, me) {
    if (!channel.is_im && !channel.is_mpim) return channel.name ?? channel.id;
    const members = this.channels.get(channel.id)?.members ?? [];
    const others = members.filter((member) => member !== me).map((member) => this.name(member));
    return others.join(", ") || this.name(me);
  }

  /** @param {string} id */
  members(id) {
    return this.channels.get(id)?.members ?? [];
  }

  /**
   * Returns where a permalink of this workspace leads, null for any other address.
   *
   * @param {string} url
   * @returns {{ channel: string, ts: string } | null}
   */
  inside(url) {
    const root = `https://${this.workspace.team.domain}.slack.com/archives/`;
    if (!url.startsWith(root)) return null;
    const found = /^([A-Z0-9]+)\/p(\d{10})(\d{6})(?:[?#]|$)/.exec(url.slice(root.length));
    return found && { channel: found[1], ts: `${found[2]}.${found[3]}` };
  }

  /** Changes whenever a name might. */
  get mark() {
    return [...this.users.values()].map((user) => user.id + user.real_name + user.name).join();
  }
}

/**
 * @param {Directory} directory
 * @param {string} id
 */
export function avatar(directory, id) {
  if (id === directory.app.bot_user)
    return h("span", { class: "avatar app", "aria-hidden": "true" });
  const name = directory.name(id);
  const initials = name
    .split(/[\s._-]+/)
    .filter(Boolean)
    .slice(0, 2)
    .map((word) => [...word][0].toUpperCase())
    .join("");
  const at = [...directory.users.keys()].indexOf(id);
  const hue = `hue-${(at < 0 ? HUES - 1 : at) % HUES}`;
  return h("span", {
    class: `avatar ${hue}`,
    "aria-hidden": "true",
    "data-initials": initials || "?",
  });
}
