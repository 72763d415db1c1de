// Words: numbers, times and findings as people read them.

import { EVIDENCES, KINDS, OTHER_KIND } from "./terms.js"; // made by the service
import { ahead, zone } from "./zone.js";

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export const kindWords = (kind) => (KINDS[kind] ?? OTHER_KIND).phrase;

const two = (number) => String(number).padStart(2, "0");

/** A date whose UTC parts are those that are shown. */
const shown = (ms) => new Date(ms + ahead(ms));

/** Date and time of day, seconds only where they matter: 2026-03-02 04:05. */
export function clock(ms) {
  const at = shown(ms);
  const date = [at.getUTCFullYear(), two(at.getUTCMonth() + 1), two(at.getUTCDate())].join("-");
  return `${date} ${timeOfDay(ms)}`;
}

/** Time of day alone. */
export function timeOfDay(ms) {
  const at = shown(ms);
  const seconds = at.getUTCSeconds() ? `:${two(at.getUTCSeconds())}` : "";
  return `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}${seconds}`;
}

/** Day of the month, for an axis: 2 Mar. */
export function day(ms) {
  const at = shown(ms);
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}`;
}

/** First and last time; the date only once if it is the same. */
export function span(start, end) {
  const first = clock(start), last = clock(end);
  return `${first} to ${first.slice(0, 10) === last.slice(0, 10) ? last.slice(11) : last}`;
}

/** A time, or a first and a last one, with their zone. */
export const zoned = (start, end = null) =>
  `${end === null ? clock(start) : span(start, end)} ${zone(start)}`;

/** How long: 45 s, 20 min, 1 h 30 min, 3 d 4 h. */
export function duration(ms) {
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  const minutes = Math.round(ms / MINUTE);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`;
}

/** How long ago. */
export function ago(ms, now) {
  const past = now - ms;
  return past < 5 * SECOND ? "just now" : `${duration(past)} ago`;
}

/** A number with at most four digits that matter; a count in full. */
export function figure(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "-";
  if (number === 0) return "0"; // and not "-0"
  if (Number.isInteger(number) && Math.abs(number) < 1e6) return number.toLocaleString("en-US");
  const size = Math.abs(number);
  const units = [[1e12, 1e12, "T"], [1e9, 1e9, "G"], [1e6, 1e6, "M"], [1e4, 1e3, "k"]];
  for (const [from, unit, letter] of units) {
    if (size >= from) return `${Number((number / unit).toPrecision(3))}${letter}`;
  }
  if (size !== 0 && size < 1e-3) return number.toExponential(1);
  return String(Number(number.toPrecision(4)));
}

/** A score: two digits after the point. */
export const score = (number) => number?.toFixed(2) ?? "-";

/** A share as a percentage. */
export function percent(share) {
  const value = 100 * share;
  return value >= 10 || value === 0 ? `${Math.round(value)}%` : `${value.toFixed(1)}%`;
}

/** A count and its noun. */
export const count = (number, noun) => `${figure(number)} ${noun}${number === 1 ? "" : "s"}`;

/** Rarer than this nobody has seen enough rows to say. */
const RAREST = 1e-6;

/** How rare a score is among normal rows. */
export function odds(pValue) {
  if (pValue === null || pValue === undefined || !Number.isFinite(pValue)) {
    return "there is too little reference data to say how rare this is";
  }
  return pValue >= 0.5 ? "most normal rows score as high"
    : `at most 1 normal row in ${oneIn(pValue)} scores as high`;
}

/** Of how many rows one has a p-value, as far as anybody can know. */
export function oneIn(pValue) {
  const times = 1 / Math.max(pValue, RAREST);
  const rounded = times >= 100 ? Number(times.toPrecision(2)) : Math.round(times);
  return rounded.toLocaleString("en-US");
}

/** A lane's name: its watch, and its entity if the watch is split. */
export const laneName = (lane) => (lane.entity ? `${lane.watch} / ${lane.entity}` : lane.watch);

// Signs that hide or turn others: control signs, marks of direction, signs without a shape.
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** A text in which every sign is seen: "a\\u202eb" where a mark would turn what follows. */
export function visible(text) {
  return String(text).replace(UNSEEN, (sign) => {
    const code = sign.codePointAt(0).toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
}

/** The metric of a variable without its labels. */
export const metric = (variable) => variable.split("{", 1)[0] || variable;

/** Whose fault an alert is. */
export function culprits(alert) {
  const [first, ...others] = alert.causes;
  if (!first) return "No single variable";
  return `${metric(first.variable)}${others.length ? ` and ${count(others.length, "other")}` : ""}`;
}

/** An alert in one line: whose fault, and in what way. */
export function alertTitle(alert) {
  const kind = alert.causes[0]?.kind;
  return `${culprits(alert)}: ${(KINDS[kind] ?? OTHER_KIND).title}`;
}

/** Which moment an alert's causes are of, and why not of the worst where they are not. */
export function blameNote(alert) {
  const whose = `Variables by their share of what made ${timeOfDay(alert.causesAt)} strange`;
  if (alert.causesAt === alert.peak) {
    return `${whose}, the worst moment${alert.isOpen ? " so far" : ""}.`;
  }
  const risen = `${whose}, when the score was ${score(alert.causesAnomaly)}. It rose to `
    + `${score(alert.anomaly)} at ${timeOfDay(alert.peak)}`;
  return alert.isOpen
    ? `${risen}; who did that is found out some rows later.`
    : `${risen}; who did that cannot be told any more.`;
}

/** What a model would catch, in sentences. */
export function selfTestStory(test) {
  if (!test) return "It is not known yet: each new model is tried on planted anomalies.";
  if (test.verdict === "unknown") return `It is not known: ${test.reason}.`;
  const all = test.caught === test.planted;
  const found = `${test.caught} of ${test.planted} large anomalies, planted in copies of the `
    + `latest ${count(test.rows, "row")} it learned from, would raise an alert.`;
  const why = test.reason && !all ? ` Why not more: ${test.reason}.` : "";
  return `${found}${why}${test.remedy ? ` ${test.remedy}.` : ""}`;
}

/** An alert in sentences. */
export function alertStory(alert, now) {
  const lasted = duration(alert.end - alert.start);
  const whose = laneName(alert);
  const when = alert.isOpen
    ? `Since ${clock(alert.start)}, ${ago(alert.start, now)}, ${whose} behaves unlike before.`
    : `From ${span(alert.start, alert.end)}, for ${lasted}, ${whose} behaved unlike before.`;
  const worst = `At its worst, at ${timeOfDay(alert.peak)}, it scored ${score(alert.anomaly)} `
    + `where 1 is the threshold: ${odds(alert.pValue)}.`;
  const spoke = Object.entries(alert.evidences).sort((a, b) => b[1] - a[1]).slice(0, 2);
  const loud = spoke.filter(([, nats]) => nats >= 1)
    .map(([name]) => EVIDENCES[name] ?? `The evidence ${name} is surprised.`);
  return [when, worst, ...loud].join(" ");
}
