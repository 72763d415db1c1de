// Fleet page: the latest incidents, a table of all lanes, those with alerts and problems first, and
// the latest alerts.

import * as api from "./api.js";
import { showAlerts } from "./alert_list.js";
import { fill, make } from "./dom.js";
import { showIncidents } from "./incident_list.js";
import { laneRow } from "./lane_row.js";
import { RANGES, rangeFromAddress, reach, usualRange } from "./ranges.js";
import { byTrouble, stateOf } from "./state.js";
import { count, figure, laneName } from "./words.js";

const POINTS = 240;
const AT_ONCE = 4;
const LATEST_ALERTS = 12;
const LATEST_INCIDENTS = 20;
const SHOWN_INCIDENTS = 5;
const TICK = 5_000;

const keyOf = (watch, entity) => JSON.stringify([watch, entity]);

/** Show the fleet; return the page's handler of news. */
export async function show(main, page) {
  const first = await api.watches();
  const range = rangeFromAddress(usualRange(first.flatMap((watch) => watch.lanes)));
  const rows = new Map();
  const queue = [];
  let asking = 0, filterText = "";

  const summary = make("p", { class: "sub", id: "summary" });
  const problems = make("div", { class: "problems" });
  const body = make("div", { role: "rowgroup", class: "lanes" });
  const head = make("div", { role: "rowgroup" }, make("div", { role: "row", class: "lane head" },
    ...["State", "Recording", `Score over ${RANGES[range.name].words}`, "Now", "Variables",
      "Open alert", "Last row"].map((words) => make("span", { role: "columnheader" }, words))));
  const table = make("div", { role: "table", "aria-label": "Recordings", class: "card fleet" },
    head, body);
  const filter = make("input", {
    type: "search", placeholder: "Filter by name", "aria-label": "Filter recordings by name",
    on: { input: () => { filterText = filter.value.trim().toLowerCase(); arrange(); } },
  });
  const buttons = ["1h", "6h", "1d", "7d"].map((name) => make("a", {
    class: "choice", href: `/?range=${name}`, "aria-current": name === range.name ? "true" : null,
    "aria-label": RANGES[name].words,
  }, name));
  const alerts = make("div");
  const incidents = make("section", { "aria-labelledby": "incidents", hidden: true });
  fill(main,
    make("div", { class: "title" },
      make("div", {}, make("h1", {}, "Fleet"), summary),
      make("div", { class: "tools" }, filter,
        make("div", { class: "group", role: "group", "aria-label": "Time range" }, ...buttons))),
    problems, incidents, table,
    make("section", { "aria-labelledby": "latest" },
      make("h2", { id: "latest" }, "Latest alerts"), alerts));

  // Load the scores of rows that come near the screen, a few at a time, and draw only those rows.
  const near = new IntersectionObserver((seen) => {
    for (const entry of seen) entry.target.row.moved(entry.isIntersecting);
    askSoon();
  }, { rootMargin: "400px" });

  const askSoon = () => {
    queue.push(...[...rows.values()].filter((row) => row.wantsScores()));
    askNext();
  };

  const askNext = () => {
    while (asking < AT_ONCE && queue.length) {
      const row = queue.shift();
      const { since, until } = reach(range);
      asking += 1;
      api.scores(row.lane.watch, row.lane.entity, since, until, POINTS)
        .then((found) => { row.take(found.times, found.anomaly); })
        .catch(() => { row.take([], []); })
        .finally(() => { asking -= 1; askNext(); });
    }
  };

  const arrange = () => {
    const shown = [...rows.values()].map((row) => row.lane)
      .filter((lane) => laneName(lane).toLowerCase().includes(filterText));
    const nodes = byTrouble(shown, api.now())
      .map((lane) => rows.get(keyOf(lane.watch, lane.entity)).node);
    const there = [...body.children];
    if (nodes.length === there.length && nodes.every((node, i) => there[i] === node)) return;
    const focused = document.activeElement;
    fill(body, ...(nodes.length ? nodes : [nothing(filterText)]));
    if (focused instanceof HTMLElement && body.contains(focused)) focused.focus();
  };

  const take = (watches) => {
    const lanes = watches
      .flatMap((watch) => (watch.lanes.length ? watch.lanes : [laneless(watch)]));
    const known = new Set(lanes.map((lane) => keyOf(lane.watch, lane.entity)));
    for (const key of rows.keys()) if (!known.has(key)) rows.delete(key);
    for (const lane of lanes) {
      const key = keyOf(lane.watch, lane.entity);
      if (!rows.has(key)) {
        rows.set(key, laneRow(range));
        near.observe(rows.get(key).node);
      }
      rows.get(key).update(lane);
    }
    const open = lanes.filter((lane) => lane.alert && !lane.alert.isMuted).length;
    const calm = lanes.filter((lane) => stateOf(lane, api.now()).kind === "calm").length;
    summary.textContent = [
      open ? `${count(open, "recording")} with an open alert` : "No open alert",
      `${figure(calm)} of ${figure(lanes.length)} calm`,
    ].join(", ");
    page.title(open ? `${count(open, "alert")} - fleet` : "Fleet");
    fill(problems, ...watches.flatMap((watch) => watch.problems.map((problem) =>
      make("p", { class: "problem" }, `${watch.name}: ${problem}`))));
    arrange();
    askSoon();
  };

  const look = async (watches) => {
    const [latest, found] = await Promise.all([api.alerts({ limit: LATEST_ALERTS }),
      api.incidents({ limit: LATEST_INCIDENTS })]);
    take(watches);
    const openFirst = found.sort((a, b) => b.isOpen - a.isOpen);
    showIncidents(incidents, openFirst.slice(0, SHOWN_INCIDENTS));
    showAlerts(alerts, latest, { withLane: true });
  };

  await look(first);
  setInterval(() => rows.forEach((row) => row.tick()), TICK);
  return { look: (watches) => look(watches).catch(() => {}) };
}

function laneless(watch) {
  const { name, step, phase, progress, problems } = watch;
  return {
    watch: name, entity: "", step, phase, progress, problems,
    rows: 0, series: 0, lastTime: null, latest: null, alert: null,
  };
}

function nothing(filterText) {
  return make("p", { class: "note" }, filterText
    ? "No recording has this in its name." : "Nothing is watched yet.");
}
