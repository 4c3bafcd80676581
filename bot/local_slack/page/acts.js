/** What a person does here, with what is under way and what failed. */

import { ActError, act } from "./api.js";
import { confirmed } from "./confirm.js";

/** @typedef {import("./state.js").Store} Store */
/** @typedef {import("./types.js").Place} Place */
/** @typedef {import("./types.js").Result} Result */
/** @typedef {import("./types.js").Element_} Element_ */

/**
 * @typedef {object} Pressed
 * @property {Place} place
 * @property {string} block
 * @property {Element_} element
 * @property {unknown} [value] what was picked; a button has none to pick
 * @property {Record<string, unknown>} [values] what stands in the inputs around it
 */

/** @type {Record<string, string>} */
const FAILURES = {
  operation_timeout: "The app did not answer in time (operation_timeout).",
  dispatch_failed: "The app did not take it (dispatch_failed).",
};

/**
 * Names the place where blocks stand.
 *
 * @param {Place} place
 */
export function placeKey(place) {
  return "ts" in place ? place.ts : place.view_id;
}

/**
 * Names a thing that can be pressed, in one word.
 *
 * @param {Place} place
 * @param {string} block
 * @param {string} [action]
 */
export function pressKey(place, block, action = "") {
  return [placeKey(place), block, action].join("/").replace(/\s/g, "_");
}

export class Acts {
  /** @param {Store} store */
  constructor(store) {
    this.store = store;
  }

  /** @param {Pressed} pressed */
  async press({ place, block, element, value, values }) {
    if (element.confirm && !(await confirmed(element.confirm, this.store.context))) return;
    const body = { ...place, block_id: block, action_id: element.action_id };
    const picked = value === undefined ? {} : { value };
    await this.#do(pressKey(place, block, element.action_id), placeKey(place), () =>
      act("click", { user: this.store.me, ...body, ...picked, values: values ?? {} }),
    );
  }

  /**
   * @param {string} view
   * @param {Record<string, unknown>} values
   */
  async submit(view, values) {
    await this.#do(`${view} submit`, view, () =>
      act("submit", { user: this.store.me, view_id: view, values }),
    );
  }

  /** @param {string} view */
  async close(view) {
    await this.#do(`${view} close`, view, () =>
      act("close_view", { user: this.store.me, view_id: view }),
    );
  }

  /**
   * @param {string} text
   * @param {string} [thread]
   */
  async write(text, thread) {
    const { user, channel } = this.store.where;
    const [command, ...rest] = text.split(" ");
    const slash = text.startsWith("/");
    await this.#do("composer", "", () =>
      slash
        ? act("slash", { user, channel, command, text: rest.join(" ") })
        : act("say", { user, channel, text, ...(thread ? { thread_ts: thread } : {}) }),
    );
  }

  async openHome() {
    await this.#do("home", "home", () => act("open_home", { user: this.store.me }));
  }

  /**
   * Does one thing, once at a time, and keeps what came of it.
   *
   * @param {string} key
   * @param {string} place where a failure is told; empty for a private line
   * @param {() => Promise<Result>} work
   */
  async #do(key, place, work) {
    const { store } = this;
    const [mine, here] = [`${store.me} ${key}`, `${store.me} ${place}`];
    if (store.pending.has(mine)) return;
    store.pending.add(mine);
    store.failures.delete(here);
    store.draw();
    let failure = "";
    try {
      const result = await work();
      failure = result.failure ? (FAILURES[result.failure] ?? result.failure) : "";
    } catch (error) {
      failure = told(error);
      if (!place) store.say(failure);
    } finally {
      store.pending.delete(mine);
    }
    if (failure && place) store.failures.set(here, failure);
    await store.refresh();
  }
}

/** @param {unknown} error */
function told(error) {
  if (!(error instanceof ActError)) throw error;
  const detail = error.message.charAt(0).toUpperCase() + error.message.slice(1);
  return `${detail.replace(/\.$/, "")} (${error.code}).`;
}

/**
 * Shows in the page what is under way and what failed, without drawing anything anew.
 *
 * @param {Store} store
 */
export function markActs(store) {
  for (const one of /** @type {Iterable<HTMLElement>} */ (
    document.querySelectorAll("[data-press]")
  )) {
    const busy = store.pending.has(`${store.me} ${one.dataset.press}`);
    for (const name of ["aria-busy", "aria-disabled"]) {
      if (busy) one.setAttribute(name, "true");
      else one.removeAttribute(name);
    }
  }
  for (const one of /** @type {Iterable<HTMLElement>} */ (
    document.querySelectorAll("[data-failure]")
  )) {
    const text = store.failures.get(`${store.me} ${one.dataset.failure}`) ?? "";
    if (one.textContent !== text) one.textContent = text;
    one.hidden = !text;
  }
}
