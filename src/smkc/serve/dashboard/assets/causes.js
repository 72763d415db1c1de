// Causes: the variables that contributed to an alert, by share, with their values around it.

import { chart } from "./chart.js";
import { announce, fill, make, styled } from "./dom.js";
import { count, figure, kindWords, metric, percent, withClocks } from "./words.js";

const DRAWN = 6;
const LISTED = 12;
const TRACE_HEIGHT = 94;
const MOST_JOINT = 3;

// Metric names of Prometheus counters, which are plotted as rates.
const COUNTER = /_(total|count|sum|bucket)$/;

/**
 * Make a list of causes; ``show`` takes the alert, traces by name and data of all charts.
 *
 * ``onZoom`` is called with the time span that the visitor selected on a chart.
 */
export function causeList({ onZoom = null } = {}) {
  const node = make("ol", { class: "causes" });
  const charts = new Map();
  let written = "";
  return {
    node,
    /** Return the names of the variables whose traces are plotted. */
    drawn: (alert) => alert.causes.slice(0, DRAWN).map((cause) => cause.variable),
    show(alert, traces, common) {
      const shown = alert.causes.slice(0, DRAWN).filter((cause) =>
        traces.get(cause.variable)?.times.length);
      for (const { variable } of shown) {
        if (!charts.has(variable)) charts.set(variable, traceChart(variable, onZoom));
        const { usual } = traces.get(variable);
        const line = { name: "value", ...drawnTrace(variable, traces.get(variable)) };
        charts.get(variable).show({ ...common, usual, lines: [line] });
      }
      // Rebuild the list only when it changes, so that visitors do not lose their place.
      const drawn = new Set(shown.map((cause) => cause.variable));
      const words = JSON.stringify([alert.causes, [...drawn]]);
      if (words === written) return;
      written = words;
      const chartOf = ({ variable }) => (drawn.has(variable) ? charts.get(variable).node : null);
      const items = alert.causes.slice(0, LISTED).map((cause) => causeItem(cause, chartOf(cause)));
      fill(node, ...items, remainder(alert.causes));
    },
  };
}

function traceChart(variable, onZoom) {
  const title = isCounter(variable) ? "a second" : "";
  return chart({ name: variable, title, height: TRACE_HEIGHT, onZoom }, describe);
}

/** Return a last list item for the causes that are not listed, or if there are none. */
function remainder(causes) {
  if (!causes.length) return make("li", { class: "card more" }, "No single variable stands out.");
  const left = causes.slice(LISTED);
  if (!left.length) return null;
  const share = left.reduce((sum, cause) => sum + cause.share, 0);
  return make("li", { class: "card more" },
    `and ${count(left.length, "more variable")} with ${percent(share)} together`);
}

const isCounter = (variable) => COUNTER.test(metric(variable));

/** Return what to plot of a variable: its values, or the rate per second of a counter. */
function drawnTrace(variable, { times, values }) {
  if (!isCounter(variable)) return { times, values };
  const grown = values.slice(1).map((value, i) => (value >= values[i] ? value - values[i] : value));
  const rates = grown.map((by, i) => (1000 * by) / (times[i + 1] - times[i]));
  return { times: times.slice(1), values: rates };
}

function causeItem(cause, drawing) {
  const part = Math.min(1, Math.max(0, cause.share));
  const bar = styled(make("i", {}), "width", `${(100 * part).toFixed(1)}%`);
  const others = cause.jointWith.slice(0, MOST_JOINT).join(", ");
  const more = cause.jointWith.length > MOST_JOINT ? ", ..." : "";
  const joint = others
    ? make("p", { class: "detail" }, `share held jointly with ${others}${more}`) : null;
  const share = make("p", { class: "share" }, make("b", {}, percent(cause.share)),
    `, ${cause.kind}: ${kindWords(cause.kind)}`);
  const name = make("p", { class: "name" }, cause.variable);
  const detail = make("p", { class: "detail" }, withClocks(cause.detail));
  if (!drawing) {
    return make("li", { class: "card cause lesser", "data-variable": cause.variable },
      make("div", {}, name), make("div", {}, share, detail, joint, queryOf(cause)));
  }
  return make("li", { class: "card cause", "data-variable": cause.variable },
    make("div", {}, name, make("div", { class: "bar", "aria-hidden": "true" }, bar),
      share, detail, joint, queryOf(cause)),
    drawing);
}

/** Return a cause's PromQL with a button to copy it and links to graphs; null without PromQL. */
export function queryOf({ query, links }) {
  if (!query) return null;
  const text = make("code", {}, query);
  const copy = make("button", { type: "button", class: "plain", on: {
    click: () => copyFrom(text, query),
  } }, "Copy");
  const graphs = Object.entries(links).map(([name, address]) =>
    make("a", { href: address, target: "_blank", rel: "noreferrer" }, name));
  return make("p", { class: "query" }, text, copy, ...graphs);
}

/** Copy a text; if the browser does not allow it, select it for the visitor to copy. */
async function copyFrom(node, text) {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied.");
  } catch {
    getSelection().selectAllChildren(node);
    announce("Marked: copy it with Ctrl and C.");
  }
}

function describe(data) {
  const known = (values) => values.filter((value) => value !== null);
  const values = known(data.lines[0].values);
  if (!values.length) return "not observed around the alert";
  const reach = (lows, highs) => `${figure(Math.min(...lows))} to ${figure(Math.max(...highs))}`;
  const usual = data.usual
    ? `, usually ${reach(known(data.usual.lower), known(data.usual.upper))}` : "";
  return `around the alert, from ${reach(values, values)}${usual}`;
}
