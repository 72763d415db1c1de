// Fleet: every lane in a row, those in trouble first, and the latest alerts.

import * as api from "./api.js";
import { alertList } from "./alert_list.js";
import { strip } from "./chart.js";
import { fill, make } from "./dom.js";
import { RANGES, rangeFromAddress, reach, usualRange } from "./ranges.js";
import { alertAddress, byTrouble, laneAddress, stateOf, stateSign } from "./state.js";
import { ago, alertTitle, clock, count, culprits, figure, laneName, score } from "./words.js";

const POINTS = 240;
const STRIP_HEIGHT = 34;
const AT_ONCE = 4;
const LATEST_ALERTS = 12;
const LOOK_AGAIN = 1_000;
const LEARNING_AGAIN = 5_000;
const TICK = 5_000;

const keyOf = (watch, entity) => JSON.stringify([watch, entity]);

/** Show the fleet; return how it follows what happens. */
export async function show(main, page) {
  const first = await api.watches();
  const range = rangeFromAddress(usualRange(first.flatMap((watch) => watch.lanes)));
  const rows = new Map();
  const queue = [];
  let asking = 0, looking = null, filterText = "";

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
  fill(main,
    make("div", { class: "title" },
      make("div", {}, make("h1", {}, "Fleet"), summary),
      make("div", { class: "tools" }, filter,
        make("div", { class: "group", role: "group", "aria-label": "Time range" }, ...buttons))),
    problems, table,
    make("section", { "aria-labelledby": "latest" },
      make("h2", { id: "latest" }, "Latest alerts"), alerts));

  // Strips are asked for when they come near the screen, a few at a time.
  const near = new IntersectionObserver((seen) => {
    for (const one of seen.filter((entry) => entry.isIntersecting)) {
      near.unobserve(one.target);
      if (one.target.lane.lane.rows > 0) queue.push(one.target.lane);
    }
    askNext();
  }, { rootMargin: "400px" });

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
      const row = rows.get(key);
      if (row.lane?.rows === 0 && lane.rows > 0) near.observe(row.node);
      row.update(lane);
    }
    const open = lanes.filter((lane) => lane.alert).length;
    const calm = lanes.filter((lane) => stateOf(lane, api.now()).kind === "calm").length;
    summary.textContent = [
      open ? `${count(open, "recording")} with an open alert` : "No open alert",
      `${figure(calm)} of ${figure(lanes.length)} calm`,
    ].join(", ");
    page.title(open ? `${count(open, "alert")} - fleet` : "Fleet");
    fill(problems, ...watches.flatMap((watch) => watch.problems.map((problem) =>
      make("p", { class: "problem" }, `${watch.name}: ${problem}`))));
    arrange();
  };

  const look = async (found) => {
    const [watches, latest] = await Promise.all([
      found ?? api.watches(), api.alerts({ limit: LATEST_ALERTS })]);
    take(watches);
    fill(alerts, alertList(latest, { withLane: true }));
  };
  const lookSoon = () => {
    looking ??= setTimeout(() => { looking = null; look().catch(() => {}); }, LOOK_AGAIN);
  };

  await look(first);
  setInterval(() => rows.forEach((row) => row.tick()), TICK);
  setInterval(() => {
    if ([...rows.values()].some((row) => row.lane.phase !== "following")) lookSoon();
  }, LEARNING_AGAIN);
  return {
    look(found) {
      look(found).catch(() => {});
      if (found) return;
      // Rows came while nobody listened: strips are asked for anew.
      for (const { node } of rows.values()) {
        near.unobserve(node);
        near.observe(node);
      }
    },
    event(kind, content) {
      const row = rows.get(keyOf(content.watch, content.entity));
      if (kind === "row" && row && content.verdict) {
        const verdict = api.verdictOf(content.verdict);
        const isNews = row.lane.phase !== "following";
        row.update({
          ...row.lane, latest: verdict, lastTime: verdict.time, series: verdict.cardinality,
        });
        if (!isNews) return;
      }
      lookSoon();
    },
  };
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

/** One lane's row of the table: made once, updated as things happen. */
function laneRow(range) {
  const cells = Object.fromEntries(["doing", "name", "score", "now", "series", "alert", "last"].map(
    (name) => [name, make("span", { role: "cell", class: `cell ${name}` })]));
  const node = make("div", { role: "row", class: "lane" }, ...Object.values(cells));
  const link = make("a", {});
  fill(cells.name, link);
  const chart = strip(STRIP_HEIGHT, (data) => describe(row.lane, data));
  fill(cells.score, chart.node);
  let times = null, anomalies = null; // until they were asked for
  const redraw = () => {
    const { since, until } = reach(range);
    chart.show({
      since, until, floor: 0, least: 1.6, threshold: 1,
      lines: [{ name: "score", times, values: anomalies }],
    });
  };
  const append = (time, anomaly) => {
    if (times === null || time <= (times.at(-1) ?? 0)) return;
    const { since } = reach(range);
    times.push(time);
    anomalies.push(anomaly);
    while (times.length && times[0] < since) {
      times.shift();
      anomalies.shift();
    }
    redraw();
  };
  const row = {
    node,
    lane: null,
    update(lane) {
      row.lane = lane;
      link.textContent = laneName(lane);
      link.href = laneAddress(lane);
      const isPast = (lane.latest?.anomaly ?? 0) > 1;
      fill(cells.now, make("b", { class: isPast ? "hot" : null }, score(lane.latest?.anomaly)));
      fill(cells.series, figure(lane.series));
      fill(cells.alert, lane.alert ? make("a", {
        href: alertAddress(lane.alert), title: alertTitle(lane.alert),
      }, culprits(lane.alert)) : "");
      if (lane.latest) append(lane.latest.time, lane.latest.anomaly);
      row.tick();
    },
    tick() {
      const at = row.lane.lastTime;
      cells.last.title = at === null ? "" : `${clock(at)} UTC`;
      cells.last.textContent = at === null ? "never" : ago(at, api.now());
      const state = stateOf(row.lane, api.now());
      if (node.dataset.state !== state.kind || cells.doing.textContent !== state.words) {
        node.dataset.state = state.kind;
        fill(cells.doing, stateSign(state));
      }
    },
    take(newTimes, newAnomalies) {
      times = [...newTimes];
      anomalies = [...newAnomalies];
      redraw();
    },
  };
  node.lane = row;
  return row;
}

function describe(lane, data) {
  const values = data.lines[0].values.filter((value) => value !== null);
  if (!values.length) return `${laneName(lane)}: no scores yet`;
  return `${laneName(lane)}: score now ${score(values.at(-1))}, at most `
    + `${score(Math.max(...values))}; 1 is the threshold`;
}
