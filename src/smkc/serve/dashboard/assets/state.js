// States: what a lane is doing, in a word, and which lanes deserve attention first.

import { make } from "./dom.js";
import { figure, laneName, percent } from "./words.js";

const RANKS = { alert: 0, waiting: 1, learning: 2, calm: 3 };

/** What a lane is doing: its kind, for the colour, and the words for it. */
export function stateOf(lane) {
  if (lane.alert) return { kind: "alert", words: "alert" };
  if (lane.phase === "waiting") return { kind: "waiting", words: "waiting" };
  if (lane.phase === "backfilling") {
    return { kind: "learning", words: `fetching history, ${percent(lane.progress)}` };
  }
  if (lane.phase === "collecting") {
    return { kind: "learning", words: `collecting, ${figure(lane.rows)} rows` };
  }
  if (lane.phase === "fitting") return { kind: "learning", words: "fitting" };
  if (lane.problems.length) return { kind: "waiting", words: "following, with trouble" };
  return { kind: "calm", words: "calm" };
}

/** A word with its colour and a sign that does without colour. */
export function stateSign(state) {
  return make("span", { class: `state ${state.kind}` }, state.words);
}

/** Lanes with trouble first: open alerts by strength, then what waits or learns, then the rest. */
export function byTrouble(a, b) {
  const rank = (lane) => RANKS[stateOf(lane).kind];
  const weight = (lane) => lane.alert?.anomaly ?? 0;
  return rank(a) - rank(b) || weight(b) - weight(a)
    || (laneName(a) < laneName(b) ? -1 : Number(laneName(a) > laneName(b)));
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
  const seen = alert.acknowledgedBy !== "" || alert.acknowledgedAt !== null;
  return [
    stateSign(state),
    seen ? make("span", { class: "state seen" }, "acknowledged") : null,
    alert.feedback ? make("span", { class: "state seen" }, "was normal") : null,
  ].filter((one) => one !== null);
}
