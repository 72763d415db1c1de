// Alert page: the incident, story, score and causes of an alert, its evidences, and actions on it.

import * as api from "./api.js";
import { actions } from "./alert_actions.js";
import { causeList } from "./causes.js";
import { chart } from "./chart.js";
import { fill, make, say } from "./dom.js";
import { evidenceStrips } from "./evidence_strips.js";
import { incidentAddress, incidentTitle } from "./incident_list.js";
import { alertSigns, laneAddress } from "./state.js";
import {
  alertStory, alertTitle, blameNote, count, laneName, odds, score, span, timeOfDay, withClocks,
  zoned,
} from "./words.js";
import { EVIDENCES } from "./terms.js";

const POINTS = 600;
const LEAST_MARGIN_ROWS = 40;
const USUAL_STEP = 15_000;
const HOUR = 3_600_000;

/** Show one alert; return the page's handler of news. */
export async function show(main, page, id) {
  const [alert, watches] = await Promise.all([api.alert(id), api.watches()]);
  const step = watches.find((one) => one.name === alert.watch)?.step ?? USUAL_STEP;
  page.trail([[laneName(alert), laneAddress(alert)], ["Alert", null]]);

  const head = make("div", { class: "alert-head" });
  const story = make("p", { class: "story" });
  const buttons = make("div", { class: "actions" });
  const onZoom = (since, until) => zoom({ since, until: Math.min(until, api.now()) });
  const causes = causeList({ onZoom });
  const scoreChart = chart({ name: "Score", height: 130, onZoom }, describeScore);
  const strips = evidenceStrips();
  const loud = make("ul", { class: "loud" });
  const blamed = make("p", { class: "note" });
  const spokeAt = make("p", { class: "note" });
  const ways = [0, 1].map(() => make("p", { class: "unzoom", hidden: true }, make("button", {
    type: "button", on: { click: () => zoom(null) },
  }, "Show the whole alert again")));
  fill(main, head,
    make("section", { class: "card", "aria-labelledby": "happened" },
      make("h2", { id: "happened" }, "What happened"), story, scoreChart.node, ways[0], buttons),
    make("section", { "aria-labelledby": "why" }, make("h2", { id: "why" }, "Who is to blame"),
      blamed, ways[1], causes.node),
    make("details", { class: "card evidence-details" },
      make("summary", {}, make("h2", {}, "Surprise of each evidence")), spokeAt, loud, strips.node));

  let current = alert, incident = await incidentOf(alert), drawnAt = 0, drawing = 0;
  let zoomed = null;

  /** Show a part of the time in all charts; null for all around the alert. */
  const zoom = (part) => {
    zoomed = part;
    for (const one of ways) one.hidden = part === null;
    draw().catch(page.failed);
  };

  const around = () => {
    if (zoomed) return zoomed;
    const end = current.isOpen ? api.now() : current.end;
    const margin = Math.max(end - current.start, LEAST_MARGIN_ROWS * step);
    const half = Math.min(margin, 240 * step);
    return { since: current.start - half, until: Math.min(current.end + half, api.now()) };
  };

  const tell = () => {
    page.title(`${current.isOpen ? "Open alert" : "Alert"}: ${alertTitle(current)}`);
    fill(head, partOf(incident), make("p", { class: "signs" }, ...alertSigns(current)),
      make("h1", {}, alertTitle(current)),
      current.causes.length ? make("p", { class: "lead" }, leadOf(current)) : null,
      make("p", { class: "sub" },
        make("a", { href: laneAddress(current) }, laneName(current)), ", ",
        current.isOpen ? `since ${zoned(current.start)}` : zoned(current.start, current.end),
        `, worst score ${score(current.anomaly)} (`,
        make("a", { href: laneAddress(current, { range: "6h", until: current.end + 3 * HOUR }) },
          "see it among the hours around"), ")"),
      ...acknowledgement(current));
    say(story, alertStory(current, api.now()));
    blamed.textContent = `${blameNote(current)} The shaded span is the alert; a band along a line `
      + "is where its values usually are. Drag over a chart to see only that part.";
    spokeAt.textContent = `At the worst moment, ${timeOfDay(current.peak)}, in nats (2.3 is one in `
      + "ten, 6.9 one in a thousand), and before and after it.";
    fill(buttons, ...(page.mayAct ? actions(current, (changed) => {
      current = changed ?? current;
      tell();
    }) : [make("p", { class: "note" }, "Your token may look, not act: an administrator can "
      + "acknowledge this.")]));
    fill(loud, ...spoken(current));
  };

  const draw = async () => {
    const { since, until } = around();
    drawnAt = api.now();
    drawing += 1;
    const own = drawing;
    const band = {
      start: current.start, end: current.isOpen ? until : current.end, isOpen: current.isOpen,
      label: `The alert, ${span(current.start, current.end)}`,
    };
    const names = causes.drawn(current);
    const [found, traces] = await Promise.all([
      api.scores(current.watch, current.entity, since, until, POINTS),
      names.length ? api.traces(current.watch, current.entity, names, since, until) : new Map()]);
    if (own !== drawing) return;
    scoreChart.show({
      since, until, bands: [band], floor: 0, least: 1.6, threshold: 1, format: score,
      lines: [{ name: "score", times: found.times, values: found.anomaly }],
    });
    strips.show({ since, until, times: found.times, evidences: found.evidences });
    causes.show(current, traces, { since, until, bands: [band] });
  };

  const look = async () => {
    current = await api.alert(id);
    incident = await incidentOf(current);
    tell();
    await draw();
  };

  tell();
  await draw();
  return {
    look() {
      if (current.isOpen && api.now() - drawnAt > step) look().catch(() => {});
    },
  };
}

/** Return the incident of an alert; null if it has none. */
const incidentOf = ({ incident }) => (incident ? api.incident(incident).catch(() => null) : null);

/** Return a line that leads to the incident, if it has other alerts. */
function partOf(incident) {
  if (!incident || incident.timeline.length < 2) return null;
  return make("p", { class: "part-of" },
    `One of ${count(incident.timeline.length, "alert")} of the incident `,
    make("a", { href: incidentAddress(incident) }, incidentTitle(incident)));
}

/** Return the first cause's variable and its change in words. */
function leadOf({ causes: [first] }) {
  return first.detail ? `${first.variable} ${withClocks(first.detail)}` : first.variable;
}

function acknowledgement(alert) {
  const parts = alert.acknowledgements.map(({ by, at, note }) => make("p", { class: "seen-by" },
    `Acknowledged${by ? ` by ${by}` : ""} at ${zoned(at)}${note ? `: ${note}` : ""}`));
  if (alert.isMuted) {
    parts.unshift(make("p", { class: "seen-by" },
      "It began during maintenance: nobody was notified."));
  }
  if (alert.feedback) {
    parts.push(make("p", { class: "seen-by" }, `${alert.feedback} said that this was normal.`));
  }
  return parts;
}

function describeScore(data) {
  const values = data.lines[0].values.filter((value) => value !== null);
  return `${zoned(data.since, data.until)}, at most ${score(Math.max(0, ...values))}`;
}

/** Return list items for the evidences of at least 1 nat at the peak, strongest first. */
function spoken(alert) {
  const loudest = Object.entries(alert.evidences).filter(([, nats]) => nats >= 1)
    .sort((a, b) => b[1] - a[1]);
  if (!loudest.length) return [make("li", {}, "No single evidence is unusual; together they are.")];
  return loudest.map(([name, nats]) => make("li", {},
    make("b", {}, `${name}, ${nats.toFixed(1)}`), ` ${EVIDENCES[name] ?? ""} By itself, `,
    `${odds(Math.exp(-nats))}.`));
}
