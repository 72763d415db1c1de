// Presence map: when each variable was observed, one line per variable.

import { axisBelow } from "./chart.js";
import { fill, make, say, styled } from "./dom.js";
import { raster } from "./raster.js";
import { clock, count, percent, zoned } from "./words.js";

const LINE = 5;
const NAMED_LINE = 14;
const MOST_NAMED = 32;
const LEAST_HEIGHT = 60;
const MOST_HEIGHT = 448;
const MOST_LISTED = 40;

/** Make a presence map; ``show`` takes the presence from the API and its time span. */
export function presenceMap() {
  const picture = raster(["--empty", "--presence"], "presence");
  const reading = make("output", { class: "reading" });
  const axis = axisBelow();
  const list = make("div");
  const names = make("ol", { class: "names-beside", "aria-hidden": "true" });
  const node = make("div", { class: "chart" },
    make("p", { class: "caption" }, make("span", { class: "chart-title" }), reading),
    make("div", { class: "presence-box" }, names, make("div", {}, picture.node, axis.node)), list);
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
        picture.node.hidden = axis.node.hidden = names.hidden = true;
        fill(list, make("p", { class: "note" }, "No row is kept from this time."));
        return;
      }
      picture.node.hidden = axis.node.hidden = false;
      axis.show(since, until);
      names.hidden = rows > MOST_NAMED;
      const line = names.hidden ? LINE : NAMED_LINE;
      const height = Math.min(Math.max(line * rows, LEAST_HEIGHT), MOST_HEIGHT);
      styled(picture.node, "height", `${height}px`);
      styled(names, "height", `${height}px`);
      const listed = names.hidden ? [] : data.names;
      fill(names, ...listed.map((name) => make("li", { title: name }, name)));
      picture.show(data.share.flat(), data.times.length, rows,
        `Presence of ${count(rows, "variable")}, ${zoned(since, until)}`);
      fill(list, ...cameAndWent(data));
    },
  };
}

function place(at, size, cells) {
  return Math.max(0, Math.min(cells - 1, Math.floor((at / size) * cells)));
}

/** Return lists of the variables that appeared and vanished, for those who cannot see the map. */
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
