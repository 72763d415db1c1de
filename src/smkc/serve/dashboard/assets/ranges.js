// Ranges: the time range of a page, chosen by buttons and kept in the URL.

import { now } from "./api.js";
import { fill, make } from "./dom.js";

const HOUR = 3_600_000;
const YOUNG = 2 * HOUR;
export const RANGES = {
  "5m": { span: HOUR / 12, words: "5 minutes" },
  "15m": { span: HOUR / 4, words: "15 minutes" },
  "1h": { span: HOUR, words: "1 hour" },
  "6h": { span: 6 * HOUR, words: "6 hours" },
  "1d": { span: 24 * HOUR, words: "1 day" },
  "7d": { span: 7 * 24 * HOUR, words: "7 days" },
  "30d": { span: 30 * 24 * HOUR, words: "30 days" },
};

/** Return the default range: 1 hour if no lane has 2 hours of rows yet, else 6 hours. */
export function usualRange(lanes) {
  const age = Math.max(0, ...lanes.map((lane) => lane.rows * lane.step));
  return age < YOUNG ? "1h" : "6h";
}

/** Read the range from the URL. */
export function rangeFromAddress(usual) {
  const query = new URLSearchParams(location.search);
  const name = query.get("range");
  const until = Number(query.get("until"));
  const isPast = until > 0 && until < now();
  const own = Number(query.get("span"));
  return {
    name: Object.hasOwn(RANGES, name ?? "") ? name : usual,
    span: isPast && own > 0 ? own : null,
    until: isPast ? until : null,
  };
}

/** Write the range into the URL without adding an entry to the browser's history. */
function keep(range) {
  const query = new URLSearchParams(location.search);
  query.set("range", range.name);
  for (const key of ["until", "span"]) {
    if (range[key] === null) query.delete(key);
    else query.set(key, String(Math.round(range[key])));
  }
  history.replaceState(null, "", `${location.pathname}?${query}`);
}

/** Return start and end of a range; without an end of its own it ends now. */
export function reach(range) {
  const until = range.until ?? now();
  return { since: until - spanOf(range), until };
}

/** Return the length of a range: as selected on a chart, else as chosen by a button. */
const spanOf = (range) => range.span ?? RANGES[range.name].span;

/**
 * Make buttons for the range; ``onChange`` is called after each change.
 *
 * ``zoom`` of the result selects a part of the range; the length buttons and Now reset it.
 */
export function rangeButtons(range, names, onChange) {
  const node = make("div", { class: "ranges" });
  const change = (next) => {
    Object.assign(range, next);
    keep(range);
    render();
    onChange();
  };
  const move = (share) => {
    const { until } = reach(range);
    const next = until + share * spanOf(range);
    change(next >= now() ? { until: null, span: null } : { until: next });
  };
  const button = (words, label, isPressed, onClick, isOff = false) =>
    make("button", {
      type: "button", "aria-label": label, disabled: isOff, on: { click: onClick },
      "aria-pressed": isPressed === null ? null : String(isPressed),
    }, words);
  const render = () => {
    const focused = node.contains(document.activeElement)
      ? [...node.querySelectorAll("button")].indexOf(document.activeElement) : -1;
    const spans = names.map((name) =>
      button(name, RANGES[name].words, name === range.name && range.span === null,
        () => change({ name, span: null })));
    fill(node,
      make("div", { class: "group", role: "group", "aria-label": "Time range" }, ...spans),
      make("div", { class: "group", role: "group", "aria-label": "Move in time" },
        button("Earlier", "Half a range earlier", null, () => move(-0.5)),
        button("Later", "Half a range later", null, () => move(0.5), range.until === null),
        button("Now", "Up to now", range.until === null,
          () => change({ until: null, span: null }))));
    if (focused >= 0) node.querySelectorAll("button")[focused]?.focus();
  };
  render();
  const zoom = (since, until) => change({ span: until - since, until: Math.min(until, now()) });
  return { node, zoom };
}
