// Evidence strips: the surprise of each evidence over time, as coloured bars.

import { axisBelow } from "./chart.js";
import { fill, make } from "./dom.js";
import { raster } from "./raster.js";
import { EVIDENCES } from "./terms.js";
import { clock, span } from "./words.js";

const COLUMNS = 360;

// Minimum number of nats at the upper end of the colour scale.
const LEAST_HIGH = 10;

/** Make strips for the evidences; ``show`` takes { since, until, times, evidences }. */
export function evidenceStrips() {
  const node = make("div", { class: "strips" });
  const strips = new Map();
  const axis = axisBelow();
  return {
    node,
    show({ since, until, times, evidences }) {
      const names = Object.keys(EVIDENCES).filter((name) => name in evidences)
        .concat(Object.keys(evidences).filter((name) => !(name in EVIDENCES)).sort());
      const most = names.map((name) => Math.max(0, ...evidences[name].map((nats) => nats ?? 0)));
      const high = Math.max(LEAST_HIGH, ...most);
      if (!names.length) {
        strips.clear();
        fill(node, make("p", { class: "note" }, "No evidence has spoken in this time."));
      } else if (names.join() !== [...strips.keys()].join()) {
        strips.clear();
        for (const name of names) strips.set(name, oneStrip(name));
        fill(node, ...[...strips.values()].map((one) => one.node), axis.node);
      }
      axis.show(since, until);
      names.forEach((name, i) => {
        const places = columns(times, evidences[name], since, until)
          .map((nats) => (nats === null ? null : nats / high));
        const at = evidences[name].indexOf(most[i]);
        const peak = most[i] > 0 ? `at most ${most[i].toFixed(1)} at ${clock(times[at])}`
          : "silent";
        const label = `Surprise of ${name}, ${span(since, until)}: ${peak}`;
        strips.get(name).show(places, most[i], label);
      });
    },
  };
}

function oneStrip(name) {
  const picture = raster(["--empty", "--heat-1", "--alert"], "evidence-strip");
  const most = make("span", { class: "most" });
  const head = make("p", { class: "strip-head" }, make("b", {}, name),
    make("span", { class: "muted" }, EVIDENCES[name] ?? ""), most);
  return {
    node: make("div", { class: "evidence" }, head, picture.node),
    show(places, highest, label) {
      most.textContent = highest.toFixed(1);
      picture.show(places, COLUMNS, 1, label);
    },
  };
}

/** Return the maximum in each column; columns between close readings repeat the previous one. */
function columns(times, values, since, until) {
  const places = new Array(COLUMNS).fill(null);
  const width = (until - since) / COLUMNS;
  let last = -1;
  for (let i = 0; i < times.length; i += 1) {
    if (times[i] < since || times[i] > until) continue;
    const column = Math.min(COLUMNS - 1, Math.floor((times[i] - since) / width));
    const gap = last >= 0 && i > 0 && times[i] - times[i - 1] < 20 * width;
    if (gap) places.fill(places[last], last + 1, Math.max(column, last + 1));
    places[column] = Math.max(places[column] ?? 0, values[i] ?? 0);
    last = column;
  }
  return places;
}
