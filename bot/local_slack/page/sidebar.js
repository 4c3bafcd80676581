/** Who one is, and the channels that this person is in; on a phone, a drawer. */

import { avatar } from "./directory.js";
import { h, icon, reconcile } from "./dom.js";
import { HOME } from "./state.js";

/** @typedef {import("./state.js").Store} Store */
/** @typedef {import("./types.js").Channel} Channel */
/** @typedef {import("./types.js").User} User */

const people = /** @type {HTMLElement} */ (document.getElementById("people"));
const places = /** @type {HTMLElement} */ (document.getElementById("places"));
const side = /** @type {HTMLElement} */ (document.getElementById("side"));
const scrim = /** @type {HTMLElement} */ (document.getElementById("scrim"));

/** @param {Store} store */
export function drawSidebar(store) {
  reconcile(
    people,
    store.directory.people.map((user) => personItem(user, store)),
  );
  const { team, app } = store.directory.workspace;
  const head = { key: "head", mark: team.name, make: () => heading(team.name) };
  const mine = store.seen.channels;
  const direct = store.direct;
  const channels = mine.filter((one) => !one.is_im && !one.is_mpim);
  const others = mine.filter((one) => (one.is_im || one.is_mpim) && one !== direct);
  const rows = [
    head,
    title("Channels"),
    ...channels.map((one) => channelItem(one, store)),
    ...(others.length > 0 ? [title("Direct messages")] : []),
    ...others.map((one) => channelItem(one, store)),
    title("Apps"),
    row(
      {
        id: direct?.id ?? HOME,
        name: store.directory.name(app.bot_user),
        mark: avatar(store.directory, app.bot_user),
        also: HOME,
      },
      store,
    ),
  ];
  reconcile(places, rows);
}

/** @param {string} name */
function heading(name) {
  return h(
    "div",
    { class: "workspace" },
    h("strong", {}, name),
    h("span", {}, "Local Slack, on this machine"),
    h(
      "button",
      {
        type: "button",
        class: "button square close-drawer",
        "aria-label": "Close the list",
        on: { click: closeDrawer },
      },
      icon("close"),
    ),
  );
}

/** @param {string} text */
function title(text) {
  return { key: text, mark: text, make: () => h("h2", {}, text) };
}

/**
 * @param {User} user
 * @param {Store} store
 */
function personItem(user, store) {
  const { directory, unread, me } = store;
  const mine = directory.workspace.channels.filter((one) => one.members.includes(user.id));
  const fresh =
    user.id === me ? 0 : mine.reduce((sum, one) => sum + unread.count(user.id, one.id), 0);
  const kind = directory.kind(user.id);
  const name = directory.name(user.id);
  const current = user.id === me;
  const label = `${current ? "You are" : "Be"} ${name}${kind && ` ${kind}`}${fresh ? `, ${fresh} unread` : ""}`;
  const go = () => store.go({ user: user.id });
  const make = () =>
    h(
      "button",
      {
        type: "button",
        class: "person",
        "aria-current": current ? "true" : null,
        "aria-label": label,
        title: label,
        on: { click: go },
      },
      h(
        "span",
        { class: "face" },
        avatar(directory, user.id),
        fresh > 0 && h("span", { class: "dot" }),
      ),
      h("span", { class: "who" }, name.split(" ")[0]),
      kind && [" ", h("span", { class: "kind" }, kind)],
    );
  return { key: user.id, mark: label, make };
}

/**
 * @param {Channel} channel
 * @param {Store} store
 */
function channelItem(channel, store) {
  const name = store.directory.title(channel, store.me);
  const mark = channel.is_archived ? icon("archive") : icon(channel.is_private ? "lock" : "hash");
  return row({ id: channel.id, name, mark, also: "" }, store);
}

/**
 * @param {{ id: string, name: string, mark: Element, also: string }} place
 * @param {Store} store
 */
function row({ id, name, mark, also }, store) {
  const { where, unread, me } = store;
  const current = where.channel === id || where.channel === also;
  const fresh = current ? 0 : unread.count(me, id);
  const go = () => {
    closeDrawer();
    store.go({ channel: id });
  };
  const label = fresh ? `${name}, ${fresh} unread` : name;
  const make = () =>
    h(
      "button",
      {
        type: "button",
        class: fresh ? "place fresh" : "place",
        "aria-current": current ? "page" : null,
        "aria-label": label,
        on: { click: go },
      },
      mark,
      h("span", { class: "label", dir: "auto" }, name),
      fresh > 0 && h("span", { class: "count" }, String(fresh)),
    );
  return {
    key: `place ${id}`,
    mark: [me, label, current, mark.getAttribute("class")].join(" "),
    make,
  };
}

export function openDrawer() {
  side.classList.add("open");
  scrim.hidden = false;
  /** @type {HTMLElement | null} */ (people.querySelector("[aria-current]"))?.focus();
}

export function closeDrawer() {
  if (!side.classList.contains("open")) return;
  side.classList.remove("open");
  scrim.hidden = true;
  document.getElementById("open-drawer")?.focus();
}

scrim.addEventListener("click", closeDrawer);
side.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeDrawer();
});
