// Incident page: who is likely to blame, what moved first, and where it spread.

import * as api from "./api.js";
import { queryOf } from "./causes.js";
import { fill, make, say, styled } from "./dom.js";
import { incidentSign, incidentTitle, lanesOf } from "./incident_list.js";
import { alertAddress, laneAddress } from "./state.js";
import {
  count, duration, laneName, percent, score, timeOfDay, withClocks, zoned,
} from "./words.js";

// Bars are at least this part of the width, so that short alerts are seen.
const LEAST_WIDTH = 0.5;

/** Show one incident; return the page's handler of news. */
export async function show(main, page, id) {
  let current = await api.incident(id);
  let written = "";
  page.trail([["Incident", null]]);

  const head = make("div", { class: "alert-head" });
  const blamed = make("div", { class: "blamed" });
  const spread = make("p", { class: "note" });
  const steps = make("ol", { class: "timeline" });
  fill(main, head,
    make("section", { class: "card", "aria-labelledby": "blame" },
      make("h2", { id: "blame" }, "Who is likely to blame"), blamed),
    make("section", { class: "card", "aria-labelledby": "spread" },
      make("h2", { id: "spread" }, "What moved first, and where it spread"), spread, steps));

  const tell = () => {
    const now = JSON.stringify(current);
    if (now === written) return; // so that links keep the focus
    written = now;
    page.title(`${current.isOpen ? "Open incident" : "Incident"}: ${incidentTitle(current)}`);
    fill(head, make("p", { class: "signs" }, incidentSign(current)),
      make("h1", {}, incidentTitle(current)),
      make("p", { class: "sub" },
        current.isOpen ? `Since ${zoned(current.start)}` : zoned(current.start, current.end)));
    fill(blamed, ...blameWords(current));
    say(spread, spreadWords(current));
    fill(steps, ...current.timeline.map((step) => stepItem(step, current)));
  };

  tell();
  return {
    look() {
      if (!current.isOpen) return;
      api.incident(id).then((found) => { current = found; tell(); }).catch(() => {});
    },
  };
}

function blameWords({ blame, timeline }) {
  const what = blame.variable
    ? `${blame.variable} ${withClocks(blame.detail)}`.trim() : "no single variable";
  const step = timeline.find((one) => one.alert === blame.alert);
  return [
    make("p", { class: "lead" }, make("a", { href: laneAddress(blame) }, laneName(blame)),
      `: ${what}`, step ? ` (${percent(step.share)} of its deviation)` : ""),
    queryOf(blame),
    make("p", {}, `Why: ${blame.reason}.`),
    make("p", {}, make("a", { href: alertAddress({ id: blame.alert }) }, "See its alert")),
  ];
}

function spreadWords(incident) {
  const [first] = incident.timeline;
  const lanes = lanesOf(incident);
  const began = `${laneName(first)} moved first, at ${timeOfDay(first.start)}.`;
  if (incident.timeline.length === 1) return `${began} It has not spread.`;
  const last = incident.timeline.at(-1);
  const after = last.after ? `within ${duration(last.after)}` : "at the same time";
  const where = lanes.length > 1 ? ` of ${count(lanes.length, "recording")}` : "";
  return `${began} ${count(incident.timeline.length, "alert")}${where} began ${after}.`;
}

function stepItem(step, incident) {
  const whole = Math.max(incident.end - incident.start, 1);
  const part = (ms) => Math.min(100, Math.max(0, (100 * ms) / whole));
  const bar = make("i", { class: step.isOpen ? "going-on" : null });
  styled(bar, "left", `${Math.min(part(step.after), 100 - LEAST_WIDTH).toFixed(2)}%`);
  styled(bar, "width", `${Math.max(part(step.end - step.start), LEAST_WIDTH).toFixed(2)}%`);
  const common = step.inCommon.length
    ? make("p", { class: "detail" }, `in common with those before: ${step.inCommon.join(", ")}`)
    : null;
  const lasted = step.isOpen ? "goes on" : `lasted ${duration(step.end - step.start)}`;
  return make("li", { class: "step", "data-alert": step.alert },
    make("div", {}, make("b", {}, timeOfDay(step.start)),
      make("p", { class: "detail" }, step.after ? `${duration(step.after)} later` : "first")),
    make("div", {},
      make("a", { href: alertAddress({ id: step.alert }) }, laneName(step)),
      make("p", { class: "name" }, step.variable || "no single variable"),
      make("p", { class: "detail" }, withClocks(step.detail)), common),
    make("div", {}, make("div", { class: "reach", "aria-hidden": "true" }, bar),
      make("p", { class: "detail" }, `${lasted}, worst score ${score(step.anomaly)}`)));
}
