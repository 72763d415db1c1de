// Charts: line charts over time in SVG, with the page's style, width and colours.

import { draw, fill, label, make, onWidth } from "./dom.js";
import { areaPath, bandPath, linePath, linear, nearest, timeTicks, valueTicks } from "./scale.js";
import { clock, figure } from "./words.js";

const AXIS = 20;
const TOP = 8;
const PIXELS_A_TICK = 38;
const LEAST_TICKS = 3;

// Pixels that a drag has at least; a finger also moves when it only points.
const LEAST_DRAG = 6, LEAST_TOUCH_DRAG = 24;

// A reading names the marks within this share of the time shown.
const READING_SHARE = 0.005;

let drawings = 0;

/**
 * Make a chart with a time axis; the pointer or the arrow keys select a reading to show.
 *
 * ``name`` is for screen readers; ``title`` is shown above the chart. ``show`` of the result takes
 * { since, until, lines: [{ name, times, values, kind, isFilled }], usual, bands, marks, threshold,
 * floor, least, format }. Bands are shaded time spans, which are links if they have a href. Marks
 * are shaded by their kind, and the reading names those at its time. ``usual`` is null or
 * { times, lower, upper }: the band of usual values, shaded, and named by the reading.
 * ``onZoom`` is called with the time span that the visitor selected with the mouse or a finger.
 */
export function chart({ name, title = "", height, onZoom = null }, describe) {
  const reading = make("output", { class: "reading" });
  const canvas = draw("svg", { class: "plot", role: "img", tabindex: "0", height });
  const box = make("div", { class: "plot-box" }, canvas);
  const caption = make("p", { class: "caption" },
    make("span", { class: "chart-title" }, title), reading);
  const node = make("div", { class: "chart" }, caption, box);
  let data = null, width = 0, plotted = null, cursor = null;

  const redraw = () => {
    if (data === null || width === 0) return;
    plotted = plot(canvas, data, width, height);
    label(canvas, `${name}: ${describe(data)}`);
    point(cursor);
  };
  const point = (index) => {
    const main = data.lines[0];
    cursor = index === null || !main.times.length ? null
      : Math.max(0, Math.min(index, main.times.length - 1));
    reading.textContent = cursor === null ? "" : readAt(data, main.times[cursor]);
    const at = cursor === null ? -10 : plotted.x(main.times[cursor]);
    plotted.mark.setAttribute("x1", at);
    plotted.mark.setAttribute("x2", at);
  };
  canvas.addEventListener("pointermove", (event) => {
    if (data === null || !data.lines[0].times.length) return;
    const at = plotted.timeAt(event.clientX - canvas.getBoundingClientRect().left);
    point(nearest(data.lines[0].times, at));
  });
  if (onZoom) zooming(canvas, (from, to) => onZoom(plotted.timeAt(from), plotted.timeAt(to)));
  canvas.addEventListener("pointerleave", () => data && point(null));
  canvas.addEventListener("blur", () => data && point(null));
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 };
    if (data === null) return;
    if (event.key in steps) {
      point((cursor ?? data.lines[0].times.length - 1) + steps[event.key]);
      event.preventDefault();
    } else if (event.key === "Escape") point(null);
  });
  onWidth(box, (now) => {
    width = now;
    redraw();
  });
  return {
    node,
    show(next) {
      data = next;
      redraw();
    },
  };
}

/**
 * Let the visitor select a span by dragging sideways; ``onDone`` takes its two ends.
 *
 * A finger that moves up or down scrolls the page: the browser then cancels the pointer.
 */
function zooming(canvas, onDone) {
  const selection = draw("rect", { class: "selection", y: TOP, height: "100%" });
  const placeOf = (event) => event.clientX - canvas.getBoundingClientRect().left;
  let from = null, least = LEAST_DRAG;
  const cancel = () => {
    from = null;
    selection.remove();
  };
  canvas.classList.add("zooms");
  canvas.addEventListener("dragstart", (event) => event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    cancel(); // a second finger zooms the page
    if (!event.isPrimary || event.button !== 0) return;
    from = placeOf(event);
    least = event.pointerType === "mouse" ? LEAST_DRAG : LEAST_TOUCH_DRAG;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (from === null || Math.abs(placeOf(event) - from) < least) return;
    // Capturing the pointer prevents a click on an alert's link if the drag began there.
    canvas.setPointerCapture(event.pointerId);
    selection.setAttribute("x", Math.min(from, placeOf(event)));
    selection.setAttribute("width", Math.abs(placeOf(event) - from));
    canvas.append(selection);
  });
  canvas.addEventListener("pointerup", (event) => {
    const [low, high] = [from, placeOf(event)].sort((a, b) => a - b);
    const isDrawn = from !== null && selection.isConnected;
    cancel();
    if (isDrawn && high - low >= least) onDone(low, high);
  });
  canvas.addEventListener("pointercancel", cancel);
}

/** Make a small chart without axes, for a row of a table. */
export function strip(height, describe) {
  const canvas = draw("svg", {
    class: "plot strip", role: "img", height, "aria-label": "no scores yet",
  });
  const box = make("div", { class: "plot-box" }, canvas);
  let data = null, width = 0;
  const redraw = () => {
    if (data === null || width === 0) return;
    label(canvas, describe(data));
    plot(canvas, { ...data, isBare: true }, width, height);
  };
  onWidth(box, (now) => {
    width = now;
    redraw();
  });
  return {
    node: box,
    show(next) {
      data = next;
      redraw();
    },
  };
}

// ------------------------------------------------------------------------------- drawing

function plot(canvas, data, width, height) {
  const bottom = data.isBare ? height - 2 : height - AXIS;
  const top = data.isBare ? 2 : TOP;
  const [low, high] = valueRange(data);
  const x = linear(data.since, data.until, 0, width);
  const y = linear(low, high, bottom, top);
  canvas.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const parts = [];
  for (const band of [...data.marks ?? [], ...data.bands ?? []]) {
    if (band.end < data.since || band.start > data.until) continue;
    parts.push(bandOf(band, data, x, top, bottom));
  }
  const [grid, labels] = data.isBare ? [[], []] : values(data, y, low, high, width, bottom);
  parts.push(...grid);
  if (data.usual) {
    const { times, lower, upper } = data.usual;
    parts.push(draw("path", { class: "usual", d: bandPath(times, lower, upper, x, y) }));
  }
  for (const line of data.lines) parts.push(...lineOf(line, data, x, y, width, top));
  parts.push(...labels);
  if (!data.isBare) parts.push(...timeAxis(data.since, data.until, width, bottom));
  if (data.threshold !== undefined && data.threshold !== null) {
    const level = y(data.threshold);
    parts.push(draw("line", { class: "threshold", x1: 0, x2: width, y1: level, y2: level }));
  }
  const mark = draw("line", { class: "cursor", x1: -10, x2: -10, y1: top, y2: bottom });
  fill(canvas, ...parts, mark);
  return { x, mark, timeAt: linear(0, width, data.since, data.until) };
}

function valueRange(data) {
  let low = data.floor ?? Infinity, high = data.least ?? -Infinity;
  const usual = data.usual ? [data.usual.lower, data.usual.upper] : [];
  for (const values of [...data.lines.map((line) => line.values), ...usual]) {
    for (const value of values) {
      if (value === null || value === undefined) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (high - low < 1e-12 * Math.max(1, Math.abs(high))) {
    const around = Math.abs(high) * 0.1 || 1;
    return data.floor === undefined ? [low - around, high + around] : [low, high + around];
  }
  const margin = 0.06 * (high - low);
  return [data.floor === undefined ? low - margin : low, high + margin];
}

function bandOf(band, data, x, top, bottom) {
  const from = x(Math.max(band.start, data.since));
  const until = x(Math.min(Math.max(band.end, band.start), data.until));
  const wide = Math.max(until - from, 3);
  const look = band.kind ? `mark ${band.kind}` : "band";
  const rect = draw("rect", {
    class: band.isOpen ? "band open" : look, x: from, y: top, width: wide, height: bottom - top,
  }, draw("title", {}, band.label));
  const edge = band.kind ? `mark-tip ${band.kind}` : "band-tip";
  const tip = draw("rect", { class: edge, x: from, y: top - 2, width: wide, height: 3 });
  return band.href ? draw("a", { href: band.href, tabindex: "-1" }, rect, tip)
    : draw("g", {}, rect, tip);
}

function values(data, y, low, high, width, bottom) {
  const grid = [], labels = [];
  const format = data.format ?? figure;
  const wanted = Math.max(LEAST_TICKS, Math.round(bottom / PIXELS_A_TICK));
  for (const value of valueTicks(low, high, wanted)) {
    const level = y(value);
    grid.push(draw("line", { class: "grid", x1: 0, x2: width, y1: level, y2: level }));
    if (level > 12 && level < bottom - 1) {
      labels.push(draw("text", { class: "value", x: 2, y: level - 3 }, format(value)));
    }
  }
  return [grid, labels];
}

/** Return the elements of a time axis at the vertical position ``at``. */
function timeAxis(since, until, width, at) {
  const x = linear(since, until, 0, width);
  const parts = [draw("line", { class: "axis", x1: 0, x2: width, y1: at, y2: at })];
  for (const tick of timeTicks(since, until, width)) {
    const place = x(tick.at);
    if (place < 16 || place > width - 16) continue;
    parts.push(draw("line", { class: "tick", x1: place, x2: place, y1: at, y2: at + 4 }));
    parts.push(draw("text", { class: "time", x: place, y: at + 15 }, tick.text));
  }
  return parts;
}

/** Make a separate time axis, for pictures that are not SVG. */
export function axisBelow() {
  const canvas = draw("svg", { class: "plot", height: AXIS, "aria-hidden": "true" });
  const box = make("div", { class: "plot-box" }, canvas);
  let span = null, width = 0;
  const redraw = () => {
    if (span === null || width === 0) return;
    canvas.setAttribute("viewBox", `0 0 ${width} ${AXIS}`);
    fill(canvas, ...timeAxis(span.since, span.until, width, 1));
  };
  onWidth(box, (now) => {
    width = now;
    redraw();
  });
  return {
    node: box,
    show(since, until) {
      span = { since, until };
      redraw();
    },
  };
}

function lineOf(line, data, x, y, width, top) {
  const parts = [];
  const path = linePath(line.times, line.values, x, y);
  if (line.isFilled) {
    const d = areaPath(line.times, line.values, x, y, 0);
    parts.push(draw("path", { class: `area ${line.kind ?? ""}`, d }));
  }
  if (data.threshold !== undefined && data.threshold !== null) {
    drawings += 1;
    const id = `past-${drawings}`;
    const level = y(data.threshold);
    const above = draw("rect", { x: 0, y: top - 8, width, height: Math.max(level - top + 8, 0) });
    parts.push(draw("clipPath", { id }, above));
    parts.push(draw("path", { class: `line ${line.kind ?? ""}`, d: path }));
    const outline = areaPath(line.times, line.values, x, y, data.threshold);
    parts.push(draw("path", { class: "past", d: outline, "clip-path": `url(#${id})` }));
    parts.push(draw("path", { class: "line past-line", d: path, "clip-path": `url(#${id})` }));
  } else {
    parts.push(draw("path", { class: `line ${line.kind ?? ""}`, d: path }));
  }
  return parts;
}

function readAt(data, at) {
  const format = data.format ?? figure;
  const values = data.lines.filter((line) => line.times.length).map((line) => {
    const index = nearest(line.times, at);
    return `${line.name} ${format(line.values[index])}`;
  });
  if (data.usual) {
    const index = nearest(data.usual.times, at);
    values.push(`usually ${format(data.usual.lower[index])} to ${format(data.usual.upper[index])}`);
  }
  const near = READING_SHARE * (data.until - data.since);
  const marks = (data.marks ?? []).filter((one) => one.start - near <= at && at <= one.end + near);
  return [`${clock(at)}  ${values.join(", ")}`, ...marks.map((one) => one.label)].join("; ");
}
