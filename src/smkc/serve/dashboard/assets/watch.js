// Watch page: scores, evidences and presence of one lane over time.

import * as api from "./api.js";
import { showAlerts } from "./alert_list.js";
import { chart } from "./chart.js";
import { fill, make } from "./dom.js";
import { evidenceStrips } from "./evidence_strips.js";
import { loudestList } from "./loudest.js";
import { newNormalList } from "./new_normals.js";
import { presenceMap } from "./presence_map.js";
import { rangeButtons, rangeFromAddress, reach, usualRange } from "./ranges.js";
import { marksOf, spanPanel } from "./spans.js";
import { alertAddress, byTrouble, laneAddress, stateOf, stateSign } from "./state.js";
import {
  ago, count, duration, figure, laneName, score, selfTestStory, span, zoned,
} from "./words.js";

const POINTS = 900;
const MOST_ALERTS = 100;
const COLUMNS = 160;
const NAMES = 150;
const PRESENCE_AGAIN = 30_000;

/** Show one lane of a watch; return the page's handler of news. */
export async function show(main, page, name) {
  const watch = (await api.watches()).find((one) => one.name === name);
  if (!watch) throw new api.Refused(404, `there is no watch called ${name}`);
  const asked = new URLSearchParams(location.search).get("entity");
  const wanted = asked ?? byTrouble(watch.lanes, api.now())[0]?.entity ?? "";
  const lane = watch.lanes.find((one) => one.entity === wanted);
  if (!lane && asked !== null) {
    throw new api.Refused(404, `${name} has no recording called ${asked}`);
  }
  return lane ? laneView(main, page, watch, lane) : emptyView(main, page, watch);
}

/** Show a watch that has no rows yet. */
function emptyView(main, page, watch) {
  page.title(watch.name);
  page.trail([[watch.name, null]]);
  fill(main, make("h1", {}, watch.name),
    make("p", { class: "sub" }, watch.source === "push"
      ? "Nothing has been pushed to this watch yet. Its first row appears here when it closes."
      : "No row has been taken yet. It appears here when the source answers."),
    ...watch.problems.map((problem) => make("p", { class: "problem" }, problem)));
  return {
    look(watches) {
      if (watches.find((one) => one.name === watch.name)?.lanes.length) location.reload();
    },
  };
}

async function laneView(main, page, watch, lane) {
  const range = rangeFromAddress(usualRange([lane]));
  const ranges = rangeButtons(range, ["5m", "15m", "1h", "6h", "1d", "7d", "30d"], () => {
    parts.spans.suggest(range);
    loadAll().catch(page.failed);
  });
  page.title(laneName(lane));
  page.trail([[laneName(lane), null]]);

  const facts = make("p", { class: "sub" });
  const problems = make("div", { class: "problems" });
  const parts = {
    score: chart({ name: "Score", height: 210, onZoom: ranges.zoom }, describeScore),
    cardinality: chart({ name: "Variables observed", title: "observed in a row", height: 110,
      onZoom: ranges.zoom }, describeRange),
    churn: chart({ name: "Variables that came and went", title: "came, above, and went, below",
      height: 110, onZoom: ranges.zoom }, describeRange),
    evidences: evidenceStrips(),
    presence: presenceMap(),
    loudest: loudestList(),
    newNormals: newNormalList(lane, { mayAct: page.mayAct, onFailure: page.failed }),
    spans: spanPanel(lane, { isSplit: lane.entity !== "", mayAct: page.mayAct,
      onChange: () => load() }),
  };
  const alerts = make("div");
  const selfTest = make("p", { class: "self-test" });
  fill(main,
    make("div", { class: "title" },
      make("div", {}, make("h1", {}, laneName(lane)), facts),
      make("div", { class: "tools" }, ...siblings(watch, lane), ranges.node)),
    problems,
    section("Score over time", "How unlike before each moment is. Above 1 is past the threshold; "
      + "shaded spans are alerts. Point at the line, or focus it and use the arrow keys, to read "
      + "it; drag over a part to see only that.",
    parts.score.node),
    section("Marked times", "Shaded too, and named where you read the chart. Alerts that begin "
      + "during maintenance are not sent; neither maintenance nor missed faults are learned from, "
      + "from the next fit on. Drag over a chart to mark that part.", parts.spans.node),
    section("Loudest now", "The variables that are most unusual in the latest row, whether or not "
      + "it alerts. Of many variables some always are: alerts take that into account.",
    parts.loudest.node),
    section("New normal?", "Variables that have been unusual for so long that they are now judged "
      + "by what they do since. If such a change is a fault, say no: it is unusual again then, "
      + "until it is over.", parts.newNormals.node),
    make("details", { class: "card evidence-details" },
      make("summary", {}, make("h2", {}, "Surprise of each evidence")),
      make("p", { class: "note" }, "In nats: 2.3 is 1 in 10, 6.9 is 1 in 1,000."), parts.evidences.node),
    section("Variables", "How many were observed in a row, and how many of them the row before "
      + "lacked or lost.", parts.cardinality.node, parts.churn.node),
    section("Who was observed", "A line a variable, in the order in which they came; pale where "
      + "nothing was read. Of many, those that came and went most.",
      parts.presence.node),
    make("section", { "aria-labelledby": "alerts" },
      make("h2", { id: "alerts" }, "Alerts"), alerts),
    section("What it would catch", "Found out after each fit, with anomalies of up to eight kinds "
      + "that were planted for it.", selfTest));

  let data = null, known = [], marked = [], presenceAt = 0, loading = 0;

  const showLane = () => {
    const seen = lane.lastTime === null ? "no row yet"
      : `last row ${ago(lane.lastTime, api.now())}`;
    fill(facts, stateSign(stateOf(lane, api.now())), ` ${[`a row every ${duration(lane.step)}`,
      count(lane.rows, "row"), count(lane.series, "variable"), seen].join(", ")}`,
      lane.timeLeft ? `; ${lane.timeLeft}` : null);
    fill(selfTest, selfTestStory(lane.selfTest));
    fill(problems, ...lane.problems.map((problem) => make("p", { class: "problem" }, problem)));
  };

  const draw = () => {
    const { since, until } = reach(range);
    const bands = known
      .filter((one) => (one.isOpen ? until : one.end) >= since && one.start <= until)
      .map((one) => ({
        start: one.start, end: one.isOpen ? until : one.end, isOpen: one.isOpen,
        href: alertAddress(one), label: `Alert, ${span(one.start, one.end)}`,
      }));
    const line = (title, values, kind) => ({ name: title, times: data.times, values, kind });
    const common = { since, until, bands, marks: marksOf(marked, until) };
    parts.score.show({ ...common, floor: 0, least: 1.6, threshold: 1, format: score,
      lines: [line("score", data.anomaly)] });
    const isSteady = Math.min(...data.cardinality) >= 0.7 * Math.max(...data.cardinality);
    parts.cardinality.show({ ...common, floor: isSteady ? undefined : 0,
      lines: [line("variables", data.cardinality)] });
    const below = data.vanished.map((number) => -number);
    parts.churn.show({ ...common, least: 1, format: (number) => figure(Math.abs(number)), lines: [
      { ...line("came", data.appeared, "came"), isFilled: true },
      { ...line("went", below, "went"), isFilled: true }] });
    parts.evidences.show({ since, until, times: data.times, evidences: data.evidences });
  };

  const loadPresence = async () => {
    presenceAt = Date.now();
    const { since, until } = reach(range);
    // A column narrower than a row would look as if nothing had been read.
    const columns = Math.max(1, Math.min(COLUMNS, Math.floor((until - since) / lane.step)));
    const found = await api.presence(lane.watch, lane.entity, since, until, columns, NAMES);
    parts.presence.show(found, since, until);
  };

  const loadLoudest = async () => {
    const [loudest, changes] = await Promise.all([
      api.loudest(lane.watch, lane.entity), api.newNormals(lane.watch, lane.entity)]);
    parts.loudest.show(loudest);
    parts.newNormals.show(changes);
  };

  const load = async () => {
    loading += 1;
    const own = loading;
    const { since, until } = reach(range);
    const [found, list, spans] = await Promise.all([
      api.scores(lane.watch, lane.entity, since, until, POINTS),
      api.alerts({ watch: lane.watch, entity: lane.entity, limit: MOST_ALERTS }),
      api.spans(lane.watch, lane.entity, since, range.until)]);
    if (own !== loading) return;
    data = found;
    known = list;
    marked = spans.spans;
    parts.spans.show(spans);
    showLane();
    draw();
    showAlerts(alerts, list);
  };

  const loadAll = () => Promise.all([load(), loadLoudest(), loadPresence()]);

  const look = async (watches) => {
    const { rows, phase } = lane;
    const now = watches.find((one) => one.name === watch.name);
    lane = now?.lanes.find((one) => one.entity === lane.entity) ?? lane;
    showLane();
    if (lane.rows === rows && lane.phase === phase) return;
    await Promise.all([load(), loadLoudest()]);
    if (Date.now() - presenceAt > PRESENCE_AGAIN) await loadPresence();
  };

  parts.spans.suggest(range);
  await loadAll();
  return { look: (watches) => look(watches).catch(() => {}) };
}

function siblings(watch, lane) {
  if (watch.lanes.length < 2) return [];
  const choice = make("select", { "aria-label": "Recording", on: {
    change: () => location.assign(laneAddress({ watch: watch.name, entity: choice.value })),
  } }, ...watch.lanes.map((one) => make("option", {
    value: one.entity, selected: one.entity === lane.entity,
  }, one.entity)));
  return [choice];
}

let sections = 0;

function section(title, note, ...content) {
  sections += 1;
  const id = `section-${sections}`;
  return make("section", { "aria-labelledby": id }, make("h2", { id }, title),
    make("p", { class: "note" }, note), make("div", { class: "card" }, ...content));
}

function describeScore(data) {
  const values = data.lines[0].values.filter((value) => value !== null);
  if (!values.length) return "nothing was scored in this time";
  const marks = data.marks.filter((one) => one.end >= data.since && one.start <= data.until);
  return `${zoned(data.since, data.until)}, now ${score(values.at(-1))}, at most `
    + `${score(Math.max(...values))}, ${count(data.bands.length, "alert")}`
    + (marks.length ? `, ${count(marks.length, "marked time")}` : "");
}

function describeRange(data) {
  return data.lines.map((line) => {
    const values = line.values.filter((value) => value !== null);
    if (!values.length) return `${line.name}: none`;
    const sizes = values.map(Math.abs);
    return `${line.name} from ${figure(Math.min(...sizes))} to ${figure(Math.max(...sizes))}`;
  }).join(", ");
}
