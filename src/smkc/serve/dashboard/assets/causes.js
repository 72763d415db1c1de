// Causes: the variables to blame, by share, with what each did around the alert.

import { chart } from "./chart.js";
import { announce, fill, make, styled } from "./dom.js";
import { count, figure, kindWords, metric, percent } from "./words.js";

const DRAWN = 6;
const LISTED = 12;
const TRACE_HEIGHT = 94;
const MOST_JOINT = 3;

// Prometheus' names of counters, of which the rate is drawn.
const COUNTER = /_(total|count|sum|bucket)$/;

/** A list of causes; ``show`` takes the alert, the traces by name and what all charts share. */
export function causeList() {
  const node = make("ol", { class: "causes" });
  const charts = new Map();
  let written = "";
  return {
    node,
    /** Names of the variables whose traces are drawn. */
    drawn: (alert) => alert.causes.slice(0, DRAWN).map((cause) => cause.variable),
    show(alert, traces, common) {
      const shown = alert.causes.slice(0, DRAWN).filter((cause) =>
        traces.get(cause.variable)?.times.length);
      for (const { variable } of shown) {
        if (!charts.has(variable)) charts.set(variable, traceChart(variable));
        const line = { name: "value", ...drawnTrace(variable, traces.get(variable)) };
        charts.get(variable).show({ ...common, lines: [line] });
      }
      // Written anew only when there is something new to write: readers keep their place.
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

function traceChart(variable) {
  const title = isCounter(variable) ? "a second" : "";
  return chart({ name: variable, title, height: TRACE_HEIGHT }, describe);
}

/** What is left to say under the causes that are listed. */
function remainder(causes) {
  if (!causes.length) return make("li", { class: "card more" }, "No single variable stands out.");
  const left = causes.slice(LISTED);
  if (!left.length) return null;
  const share = left.reduce((sum, cause) => sum + cause.share, 0);
  return make("li", { class: "card more" },
    `and ${count(left.length, "more variable")} with ${percent(share)} together`);
}

const isCounter = (variable) => COUNTER.test(metric(variable));

/** What is drawn of a variable: its values, or what a counter grows by in a second. */
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
  const detail = make("p", { class: "detail" }, cause.detail);
  if (!drawing) {
    return make("li", { class: "card cause lesser", "data-variable": cause.variable },
      make("div", {}, name), make("div", {}, share, detail, joint, queryOf(cause)));
  }
  return make("li", { class: "card cause", "data-variable": cause.variable },
    make("div", {}, name, make("div", { class: "bar", "aria-hidden": "true" }, bar),
      share, detail, joint, queryOf(cause)),
    drawing);
}

/** The variable as PromQL, to be copied, and where its graph is one click away. */
function queryOf({ query, links }) {
  if (!query) return null;
  const text = make("code", {}, query);
  const copy = make("button", { type: "button", class: "plain", on: {
    click: () => copyFrom(text, query),
  } }, "Copy");
  const graphs = Object.entries(links).map(([name, address]) =>
    make("a", { href: address, target: "_blank", rel: "noreferrer" }, name));
  return make("p", { class: "query" }, text, copy, ...graphs);
}

/** Copy a text; where the browser does not allow it, mark it for the visitor to copy. */
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
  const values = data.lines[0].values.filter((value) => value !== null);
  if (!values.length) return "not observed around the alert";
  return `around the alert, from ${figure(Math.min(...values))} to ${figure(Math.max(...values))}`;
}
