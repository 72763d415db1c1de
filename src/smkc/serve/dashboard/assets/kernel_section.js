// Kernel section: the window of an alert beside a normal one, as six maps of moments.

import * as api from "./api.js";
import { fill, make } from "./dom.js";
import { placesOf, raster } from "./raster.js";
import { CHANNELS } from "./terms.js";
import { clock } from "./words.js";

// The service is asked again so often while it is busy: some minutes long.
const MOST_TRIES = 30;

/** Fill a node with the maps, or with the reason why there are none. */
export async function kernelSection(node, id) {
  fill(node, make("p", { class: "note" }, "Comparing windows."));
  let view = null;
  try {
    view = await comparison(node, id);
  } catch (error) {
    fill(node, make("p", { class: "note" }, `No comparison: ${error.message}.`));
    return;
  }
  if (view === null) {
    fill(node, make("p", { class: "note" },
      "Too few rows are kept from this time to compare windows."));
    return;
  }
  fill(node,
    make("p", { class: "note" }, `Each map compares the ${view.length} moments of a window with `
      + "one another, from the first (top left) to the last (bottom right). Smooth maps mean "
      + "steady behaviour; crosses and blocks mean sudden change. Left: a typical window from "
      + `${clock(view.normal_window[0])}. Right: from ${clock(view.window[0])}, around the worst `
      + "moment."),
    make("div", { class: "card kernels" },
      ...view.channels.map((one) => channel(one, view.length))));
}

/** Ask for the comparison, again and again while the service says when to. */
async function comparison(node, id) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await api.kernel(id);
    } catch (error) {
      const isLater = error.status === 503 && error.retryAfter !== null;
      if (!isLater || tries >= MOST_TRIES || !node.isConnected) throw error;
      fill(node, make("p", { class: "note" }, `Not yet: ${error.message}.`));
      await new Promise((resolve) => { setTimeout(resolve, 1000 * error.retryAfter); });
    }
  }
}

function channel(one, length) {
  const words = CHANNELS[one.name] ?? one.name;
  const pictures = [["normal", one.normal], ["alert", one.alert]].map(([which, bytes]) => {
    const picture = raster("viridis", "kernel-map");
    picture.show(placesOf(bytes), length, length, `${words}, ${which} window`);
    return make("div", {}, picture.node, make("small", {}, which));
  });
  return make("figure", { class: "kernel", "aria-label": words },
    make("figcaption", {}, words),
    make("div", { class: "pair" }, ...pictures),
    make("div", { class: "colour-scale", "aria-hidden": "true" },
      make("span", {}, one.low.toFixed(2)), make("i", {}), make("span", {}, one.high.toFixed(2))));
}
