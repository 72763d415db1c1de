// Scales: positions of times and values in a chart, ticks, and paths of lines.

import { day, timeOfDay } from "./words.js";
import { ahead } from "./zone.js";

const MINUTE = 60_000, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const TIME_STEPS = [
  1_000, 5_000, 15_000, 30_000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE,
  30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY,
  28 * DAY,
];
const LABEL_WIDTH = 76;

// A line is interrupted after this many usual steps without a reading.
const GAP_STEPS = 3.5;

/** Return a function that maps one range linearly to another. */
export function linear(from, to, low, high) {
  const slope = (high - low) / (to - from || 1);
  return (value) => low + (value - from) * slope;
}

/** Return round times inside a range, with a label for each. */
export function timeTicks(since, until, width) {
  const room = Math.max(1, Math.floor(width / LABEL_WIDTH));
  const step = TIME_STEPS.find((one) => (until - since) / one <= room) ?? TIME_STEPS.at(-1);
  const ticks = [], shift = ahead(since);
  for (let at = Math.ceil((since + shift) / step) * step - shift; at <= until; at += step) {
    ticks.push({ at, text: (at + shift) % DAY === 0 ? day(at) : timeOfDay(at) });
  }
  return ticks;
}

/** Return about ``wanted`` round values inside a range. */
export function valueTicks(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high + 1e-9 * step; n += 1) ticks.push(n * step);
  return ticks;
}

/** Return the SVG path of a line through readings, interrupted at gaps. */
export function linePath(times, values, x, y) {
  const longest = GAP_STEPS * usualStep(times);
  let path = "";
  let last = null;
  for (let i = 0; i < times.length; i += 1) {
    if (values[i] === null || values[i] === undefined) continue;
    const isJoined = last !== null && times[i] - last <= longest;
    path += `${isJoined ? "L" : "M"}${x(times[i]).toFixed(1)},${y(values[i]).toFixed(1)}`;
    if (!isJoined) path += "h0.01";
    last = times[i];
  }
  return path;
}

/** Return the SVG path of the area between a line and a level. */
export function areaPath(times, values, x, y, level) {
  const longest = GAP_STEPS * usualStep(times);
  let path = "";
  let first = null, last = null;
  const close = () => {
    if (first !== null) path += `L${x(last).toFixed(1)},${y(level).toFixed(1)}Z`;
  };
  for (let i = 0; i < times.length; i += 1) {
    if (values[i] === null || values[i] === undefined) continue;
    if (last === null || times[i] - last > longest) {
      close();
      first = times[i];
      path += `M${x(first).toFixed(1)},${y(level).toFixed(1)}`;
    }
    path += `L${x(times[i]).toFixed(1)},${y(values[i]).toFixed(1)}`;
    last = times[i];
  }
  close();
  return path;
}

/** Return the SVG path of the area between two lines, interrupted at gaps. */
export function bandPath(times, lower, upper, x, y) {
  const longest = GAP_STEPS * usualStep(times);
  const parts = [];
  times.forEach((at, i) => {
    if (lower[i] === null || upper[i] === null) return;
    const isJoined = parts.length && at - times[parts.at(-1).at(-1)] <= longest;
    if (isJoined) parts.at(-1).push(i);
    else parts.push([i]);
  });
  const points = (part, values) =>
    part.map((i) => `${x(times[i]).toFixed(1)},${y(values[i]).toFixed(1)}`).join("L");
  return parts.map((part) =>
    `M${points(part, upper)}L${points([...part].reverse(), lower)}Z`).join("");
}

/** Return the median step between times. */
function usualStep(times) {
  const steps = times.slice(1).map((at, i) => at - times[i]).sort((a, b) => a - b);
  return steps.length ? steps[Math.floor(steps.length / 2)] : Infinity;
}

/** Return the index of the time nearest to a given one; the times are ascending. */
export function nearest(times, at) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= at) low = middle;
    else high = middle;
  }
  return Math.abs(times[low] - at) <= Math.abs(times[high] - at) ? low : high;
}
