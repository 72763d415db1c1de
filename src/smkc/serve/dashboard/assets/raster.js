// Rasters: heat maps with one pixel per cell, in the page's colours.

import { label, make } from "./dom.js";

const redraws = new Set();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const reference of redraws) {
    const node = reference.deref();
    if (node) node.redraw();
    else redraws.delete(reference);
  }
});

/** Make a heat map; ``show`` takes places on the colour scale, 0 to 1 or null, row by row. */
export function raster(colours, className = "raster") {
  const canvas = make("canvas", { class: className, role: "img" });
  let shown = null;
  canvas.redraw = () => {
    if (shown === null || shown.columns === 0 || shown.rows === 0) return;
    canvas.width = shown.columns;
    canvas.height = shown.rows;
    const context = canvas.getContext("2d");
    const image = context.createImageData(shown.columns, shown.rows);
    const ramp = styleRamp(colours);
    for (let i = 0; i < shown.columns * shown.rows; i += 1) {
      const place = shown.places[i];
      if (place === null || place === undefined || Number.isNaN(place)) continue;
      image.data.set([...between(ramp, place), 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
  };
  redraws.add(new WeakRef(canvas));
  return {
    node: canvas,
    show(places, columns, rows, words) {
      shown = { places, columns, rows };
      label(canvas, words);
      canvas.redraw();
    },
  };
}

function styleRamp(names) {
  const style = getComputedStyle(document.documentElement);
  return names.map((name) => rgb(style.getPropertyValue(name).trim()));
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function between(ramp, place) {
  const exact = Math.min(Math.max(place, 0), 1) * (ramp.length - 1);
  const low = Math.min(Math.floor(exact), ramp.length - 2);
  const rest = exact - low;
  return ramp[low].map((part, i) => Math.round(part + rest * (ramp[low + 1][i] - part)));
}
