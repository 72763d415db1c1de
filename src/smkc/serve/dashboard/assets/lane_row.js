// Lane row: one lane in the fleet's table, updated as rows come.

import * as api from "./api.js";
import { strip } from "./chart.js";
import { fill, make, say } from "./dom.js";
import { reach } from "./ranges.js";
import { alertAddress, laneAddress, stateOf, stateSign } from "./state.js";
import { ago, alertTitle, culprits, figure, laneName, score, zoned } from "./words.js";

const STRIP_HEIGHT = 34;

/** Make a row with a strip of scores; ``wantsScores`` tells when they should be loaded. */
export function laneRow(range) {
  const cells = Object.fromEntries(["doing", "name", "score", "now", "series", "alert", "last"].map(
    (name) => [name, make("span", { role: "cell", class: `cell ${name}` })]));
  const node = make("div", { role: "row", class: "lane" }, ...Object.values(cells));
  const link = make("a", {});
  const alertLink = make("a", {});
  const now = make("b", {});
  fill(cells.name, link);
  fill(cells.alert, alertLink);
  fill(cells.now, now);
  const chart = strip(STRIP_HEIGHT, (data) => describe(row.lane, data));
  fill(cells.score, chart.node);
  let times = null, anomalies = null; // null until loaded
  let isAsked = false, isNear = false, isStale = false, frame = null;
  const redraw = () => {
    frame = null;
    isStale = !isNear;
    if (isStale || times === null) return;
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
    frame ??= requestAnimationFrame(redraw);
  };
  const row = {
    node,
    lane: null,
    update(lane) {
      if (row.lane && lane.rows > row.lane.rows + 1) isAsked = false; // rows came in between
      row.lane = lane;
      link.href = laneAddress(lane);
      say(link, laneName(lane));
      say(cells.series, figure(lane.series));
      say(now, score(lane.latest?.anomaly));
      now.classList.toggle("hot", (lane.latest?.anomaly ?? 0) > 1);
      if (lane.alert) {
        alertLink.href = alertAddress(lane.alert);
        alertLink.title = alertTitle(lane.alert);
        say(alertLink, culprits(lane.alert));
      }
      alertLink.hidden = !lane.alert;
      if (lane.latest) append(lane.latest.time, lane.latest.anomaly);
      row.tick();
    },
    tick() {
      const at = row.lane.lastTime;
      cells.last.title = at === null ? "" : zoned(at);
      say(cells.last, at === null ? "never" : ago(at, api.now()));
      const state = stateOf(row.lane, api.now());
      if (node.dataset.state !== state.kind || cells.doing.textContent !== state.words) {
        node.dataset.state = state.kind;
        fill(cells.doing, stateSign(state));
      }
    },
    /** Return whether to request its scores; if so, mark them as requested. */
    wantsScores() {
      const isWanted = isNear && !isAsked && row.lane.rows > 0;
      isAsked ||= isWanted;
      return isWanted;
    },
    moved(isNearNow) {
      isNear = isNearNow;
      if (isNear && isStale) redraw();
    },
    take(newTimes, newAnomalies) {
      times = [...newTimes];
      anomalies = [...newAnomalies];
      redraw();
    },
  };
  node.row = row;
  return row;
}
function describe(lane, data) {
  const values = data.lines[0].values.filter((value) => value !== null);
  if (!values.length) return `${laneName(lane)}: no scores yet`;
  return `${laneName(lane)}: score now ${score(values.at(-1))}, at most `
    + `${score(Math.max(...values))}; 1 is the threshold`;
}
