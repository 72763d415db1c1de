// States: what a lane is doing, in a word, and which lanes deserve attention first.

import { make } from "./dom.js";
import { duration, figure, laneName, percent } from "./words.js";

const RANKS = { alert: 0, waiting: 1, learning: 2, calm: 3 };

// Rows are late after so many steps, but not before so many milliseconds.
const LATE_STEPS = 10;
const LATE_LEAST = 30_000;

/** What a lane is doing at a time: its kind, for the colour, and the words for it. */
export function stateOf(lane, now) {
  if (lane.alert) return { kind: "alert", words: "alert" };
  if (lane.phase === "waiting") return { kind: "waiting", words: "waiting" };
  if (lane.phase === "backfilling") {
    return { kind: "learning", words: `history ${percent(lane.progress)}` };
  }
  if (lane.phase === "collecting") {
    const needed = lane.rowsNeeded ? ` of ${figure(lane.rowsNeeded)}` : "";
    const words = lane.rows ? `${figure(lane.rows)}${needed} rows` : "no rows yet";
    return { kind: "learning", words };
  }
  if (lane.phase === "fitting") return { kind: "learning", words: "fitting" };
  const late = lane.lastTime === null ? 0 : now - lane.lastTime;
  if (late > Math.max(LATE_STEPS * lane.step, LATE_LEAST)) {
    return { kind: "waiting", words: `late by ${duration(late)}` };
  }
  if (lane.problems.length) return { kind: "waiting", words: "in trouble" };
  return { kind: "calm", words: "calm" };
}

/** A word with its colour and a sign that does without colour. */
export function stateSign(state) {
  return make("span", { class: `state ${state.kind}` }, state.words);
}

/** Lanes in order: open alerts by strength, then what waits or learns, then the rest by name. */
export function byTrouble(lanes, now) {
  const rank = (lane) => RANKS[stateOf(lane, now).kind];
  const weight = (lane) => lane.alert?.anomaly ?? 0;
  return [...lanes].sort((a, b) => rank(a) - rank(b) || weight(b) - weight(a)
    || (laneName(a) < laneName(b) ? -1 : Number(laneName(a) > laneName(b))));
}

/** Where a lane's page is. */
export function laneAddress(lane, further = {}) {
  const query = { ...(lane.entity ? { entity: lane.entity } : {}), ...further };
  const search = new URLSearchParams(query).toString();
  return `/watches/${encodeURIComponent(lane.watch)}${search ? `?${search}` : ""}`;
}

/** Where an alert's page is. */
export const alertAddress = (alert) => `/alerts/${encodeURIComponent(alert.id)}`;

/** What an alert is at: open or over, and whether somebody has seen it. */
export function alertSigns(alert) {
  const state = alert.isOpen ? { kind: "alert", words: "open" } : { kind: "over", words: "over" };
  return [
    stateSign(state),
    alert.acknowledgedAt !== null ? make("span", { class: "state seen" }, "acknowledged") : null,
    alert.feedback ? make("span", { class: "state seen" }, "was normal") : null,
  ].filter((one) => one !== null);
}
