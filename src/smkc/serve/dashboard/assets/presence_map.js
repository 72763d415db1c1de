// Presence map: which variables were observed when, a line each.

import { axisBelow } from "./chart.js";
import { fill, make, say, styled } from "./dom.js";
import { raster } from "./raster.js";
import { clock, count, percent, span } from "./words.js";

const LINE = 5;
const LEAST_HEIGHT = 60;
const MOST_HEIGHT = 420;
const MOST_LISTED = 40;

/** A map of presence; ``show`` takes what the service answers, and the time it spans. */
export function presenceMap() {
  const picture = raster(["--empty", "--presence"], "presence");
  const reading = make("output", { class: "reading" });
  const axis = axisBelow();
  const list = make("div");
  const node = make("div", { class: "chart" },
    make("p", { class: "caption" }, make("span", { class: "chart-title" }), reading),
    picture.node, axis.node, list);
  let data = null;
  picture.node.addEventListener("pointermove", (event) => {
    if (data === null || !data.names.length) return;
    const box = picture.node.getBoundingClientRect();
    const line = place(event.clientY - box.top, box.height, data.names.length);
    const column = place(event.clientX - box.left, box.width, data.times.length);
    const share = data.share[line][column];
    const at = clock(data.times[column]);
    say(reading, `${data.names[line]}  ${at}  ${percent(share ?? 0)}`);
  });
  picture.node.addEventListener("pointerleave", () => { reading.textContent = ""; });
  return {
    node,
    show(found, since, until) {
      data = found;
      const rows = data.names.length;
      if (!rows) {
        picture.node.hidden = axis.node.hidden = true;
        fill(list, make("p", { class: "note" }, "No row is kept from this time."));
        return;
      }
      picture.node.hidden = axis.node.hidden = false;
      axis.show(since, until);
      const height = Math.min(Math.max(LINE * rows, LEAST_HEIGHT), MOST_HEIGHT);
      styled(picture.node, "height", `${height}px`);
      picture.show(data.share.flat(), data.times.length, rows,
        `Presence of ${count(rows, "variable")}, ${span(since, until)} UTC`);
      fill(list, ...cameAndWent(data));
    },
  };
}

function place(at, size, cells) {
  return Math.max(0, Math.min(cells - 1, Math.floor((at / size) * cells)));
}

/** Who came and who went in this time, as lists for those who cannot see the map. */
function cameAndWent({ names, share }) {
  const filled = share[0].map((_, column) => share.some((line) => line[column]));
  const first = filled.indexOf(true), last = filled.lastIndexOf(true);
  const came = names.filter((_, i) => !share[i][first]);
  const went = names.filter((_, i) => !share[i][last]);
  return [["came", came], ["went", went]].filter(([, some]) => some.length).map(([word, some]) => {
    const items = some.slice(0, MOST_LISTED).map((name) => make("li", {}, name));
    const left = some.length - items.length;
    if (left) items.push(make("li", {}, `and ${left} more`));
    return make("details", {},
      make("summary", {}, `${count(some.length, "variable")} ${word} in this time`),
      make("ul", { class: "names" }, ...items));
  });
}
