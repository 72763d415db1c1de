// States: the state of a lane in words, and the order of lanes by urgency.

import { make } from "./dom.js";
import { duration, figure, laneName, percent } from "./words.js";

const RANKS = { alert: 0, waiting: 1, muted: 2, learning: 3, calm: 4 };
const MUTED = { kind: "muted", words: "muted" };

// Rows are late after this many steps, but at least this many milliseconds.
const LATE_STEPS = 10;
const LATE_LEAST = 30_000;

/** Return the state of a lane at a time: a kind, which sets the colour, and words. */
export function stateOf(lane, now) {
  if (lane.alert) return lane.alert.isMuted ? MUTED : { kind: "alert", words: "alert" };
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

/** Return an element with the words of a state, styled by its kind. */
export function stateSign(state) {
  return make("span", { class: `state ${state.kind}` }, state.words);
}

/** Sort lanes: open alerts by anomaly, then waiting, muted, learning and calm lanes, by name. */
export function byTrouble(lanes, now) {
  const rank = (lane) => RANKS[stateOf(lane, now).kind];
  const weight = (lane) => lane.alert?.anomaly ?? 0;
  return [...lanes].sort((a, b) => rank(a) - rank(b) || weight(b) - weight(a)
    || (laneName(a) < laneName(b) ? -1 : Number(laneName(a) > laneName(b))));
}

/** Return the URL of a lane's page. */
export function laneAddress(lane, further = {}) {
  const query = { ...(lane.entity ? { entity: lane.entity } : {}), ...further };
  const search = new URLSearchParams(query).toString();
  return `/watches/${encodeURIComponent(lane.watch)}${search ? `?${search}` : ""}`;
}

/** Return the URL of an alert's page. */
export const alertAddress = (alert) => `/alerts/${encodeURIComponent(alert.id)}`;

/** Return signs for an alert: open or over, muted, acknowledged, and whether it was normal. */
export function alertSigns(alert) {
  const state = alert.isOpen ? { kind: "alert", words: "open" } : { kind: "over", words: "over" };
  return [
    stateSign(state),
    alert.isMuted ? stateSign(MUTED) : null,
    alert.acknowledgedAt !== null ? make("span", { class: "state seen" }, "acknowledged") : null,
    alert.feedback ? make("span", { class: "state seen" }, "was normal") : null,
  ].filter((one) => one !== null);
}
