/** Moments as people read them, each in their own time zone. */

const DAY = 24 * 60 * 60 * 1000;

/**
 * @param {Intl.DateTimeFormatOptions} options
 * @returns {(date: Date) => string}
 */
function format(options) {
  const made = new Intl.DateTimeFormat(undefined, options);
  return (date) => made.format(date);
}

const time = format({ hour: "2-digit", minute: "2-digit" });
const timeWithSeconds = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const short = format({ day: "numeric", month: "short", year: "numeric" });
const long = format({ weekday: "long", day: "numeric", month: "long", year: "numeric" });
const middle = format({ day: "numeric", month: "long", year: "numeric" });
const dayOnly = format({ weekday: "long", day: "numeric", month: "long" });
const full = format({ dateStyle: "full", timeStyle: "long" });

/** @type {Record<string, (date: Date) => string>} */
const PARTS = {
  date_num: (date) => date.toLocaleDateString("sv-SE"),
  date: middle,
  date_short: short,
  date_long: long,
  date_pretty: (date) => nearDay(date) ?? middle(date),
  date_short_pretty: (date) => nearDay(date) ?? short(date),
  date_long_pretty: (date) => nearDay(date) ?? long(date),
  time,
  time_secs: timeWithSeconds,
  ago: (date) => ago(date),
};

/**
 * @param {string} ts a message's ts, or seconds
 * @returns {Date}
 */
export function dateOf(ts) {
  return new Date(Number(ts) * 1000);
}

/** @param {Date} date */
export function clock(date) {
  return time(date);
}

/** @param {Date} date */
export function whole(date) {
  return full(date);
}

/** @param {Date} date */
export function dayLabel(date) {
  const near = nearDay(date);
  return near ? near[0].toUpperCase() + near.slice(1) : dayOnly(date);
}

/**
 * A `<!date^seconds^pattern|fallback>` of Slack; null if the pattern or the moment is not one.
 *
 * @param {string} seconds
 * @param {string} pattern
 * @returns {string | null}
 */
export function dateToken(seconds, pattern) {
  const date = dateOf(seconds);
  if (!/^-?\d+$/.test(seconds) || Number.isNaN(date.getTime())) return null;
  let known = true;
  const shown = pattern.replace(/\{(\w+)\}/g, (whole_, name) => {
    known &&= Object.hasOwn(PARTS, name);
    return known ? PARTS[name](date) : whole_;
  });
  return known ? shown : null;
}

/**
 * @param {Date} date
 * @returns {string | null}
 */
function nearDay(date) {
  const days = Math.round((midnight(date) - midnight(new Date())) / DAY);
  return { 0: "today", 1: "tomorrow", [-1]: "yesterday" }[days] ?? null;
}

/** @param {Date} date */
function midnight(date) {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

/** @param {Date} date */
function ago(date) {
  const words = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
  const minutes = Math.round((date.getTime() - Date.now()) / 60_000);
  if (Math.abs(minutes) < 60) return words.format(minutes, "minute");
  if (Math.abs(minutes) < 60 * 24) return words.format(Math.round(minutes / 60), "hour");
  return words.format(Math.round(minutes / 60 / 24), "day");
}
