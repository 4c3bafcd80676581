/** The line above the messages: where one is, who else is there, and the app's two tabs. */

import { avatar } from "./directory.js";
import { h, icon, reconcile } from "./dom.js";
import { openDrawer } from "./sidebar.js";
import { HOME } from "./state.js";

/** @typedef {import("./state.js").Store} Store */

const top_ = /** @type {HTMLElement} */ (document.getElementById("top"));

/** @param {Store} store */
export function drawTop(store) {
  const { directory, me, where } = store;
  const name = placeName(store);
  const members = directory.members(where.channel).length;
  const isApp = where.channel === HOME || store.direct?.id === where.channel;
  const items = [
    { key: "menu", mark: "", make: menu },
    { key: "name", mark: name, make: () => h("h1", { dir: "auto" }, name) },
    isApp
      ? { key: "tabs", mark: `${where.channel} ${store.direct?.id}`, make: () => tabs(store) }
      : {
          key: "about",
          mark: String(members),
          make: () => h("span", { class: "about" }, `${members} members`),
        },
    { key: "me", mark: me, make: () => self(store) },
  ];
  reconcile(top_, items);
  document.title = `${name} · ${directory.name(me)} · Local Slack`;
}

/** @param {Store} store */
function placeName({ channel, directory, me }) {
  if (!channel) return directory.name(directory.app.bot_user);
  const name = directory.title(channel, me);
  return channel.is_im || channel.is_mpim ? name : `# ${name}`;
}

function menu() {
  return h(
    "button",
    {
      type: "button",
      id: "open-drawer",
      class: "button square",
      "aria-label": "People and channels",
      on: { click: openDrawer },
    },
    icon("menu"),
  );
}

/** @param {Store} store */
function tabs(store) {
  const direct = store.direct;
  const tab = (/** @type {string} */ to, /** @type {string} */ label) =>
    h(
      "button",
      {
        type: "button",
        class: "tab",
        "aria-current": store.where.channel === to ? "page" : null,
        on: { click: () => store.go({ channel: to }) },
      },
      label,
    );
  return h("div", { class: "tabs" }, direct && tab(direct.id, "Messages"), tab(HOME, "Home"));
}

/** @param {Store} store */
function self({ directory, me }) {
  return h(
    "span",
    { class: "self" },
    h("span", { class: "you" }, "You are ", h("bdi", {}, directory.name(me))),
    avatar(directory, me),
  );
}
