/** Stays at the newest message unless the reader has moved up, and offers the way back. */

const NEAR_PX = 60;

export class Scroll {
  #end = true;

  /**
   * @param {HTMLElement} list
   * @param {HTMLElement} button
   */
  constructor(list, button) {
    this.list = list;
    this.button = button;
    list.addEventListener("scroll", () => {
      this.#end = this.#distance() < NEAR_PX;
      if (this.#end) button.hidden = true;
    });
    button.addEventListener("click", () => this.#down());
    // The keyboard of a phone, or a window made smaller, must not hide the newest message.
    new ResizeObserver(() => this.#end && this.#down()).observe(list);
  }

  /** The next drawing ends at the newest message. */
  toEnd() {
    this.#end = true;
  }

  /**
   * Draws, and stays where the reader is.
   *
   * @param {() => void} draw
   */
  keep(draw) {
    const height = this.list.scrollHeight;
    draw();
    if (this.#end) this.#down();
    else this.button.hidden = this.list.scrollHeight <= height || this.#distance() < NEAR_PX;
  }

  /**
   * Goes to one message.
   *
   * @param {string} ts
   */
  to(ts) {
    const all = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll("[data-ts]")]);
    const sought = all.find((one) => one.dataset.ts === ts);
    if (!sought) return;
    this.#end = false;
    sought.scrollIntoView({ block: "center" });
    sought.focus({ preventScroll: true });
  }

  #distance() {
    return this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight;
  }

  #down() {
    this.#end = true;
    this.button.hidden = true;
    this.list.scrollTop = this.list.scrollHeight;
  }
}
