// Causes: the variables to blame, by share, with what each did around the alert.

import { chart } from "./chart.js";
import { fill, make, styled } from "./dom.js";
import { count, figure, kindWords, percent } from "./words.js";

const DRAWN = 6;
const LISTED = 12;
const TRACE_HEIGHT = 84;
const MOST_JOINT = 3;

/** A list of causes; ``show`` takes the alert, the traces by name and what all charts share. */
export function causeList() {
  const node = make("ol", { class: "causes" });
  const charts = new Map();
  return {
    node,
    /** Names of the variables whose traces are drawn. */
    drawn: (alert) => alert.causes.slice(0, DRAWN).map((cause) => cause.variable),
    show(alert, traces, common) {
      const items = alert.causes.slice(0, LISTED).map((cause, i) => {
        const trace = traces.get(cause.variable);
        if (i >= DRAWN || !trace || !trace.times.length) return causeItem(cause, null);
        if (!charts.has(cause.variable)) {
          charts.set(cause.variable, chart("", TRACE_HEIGHT, (data) => describe(cause.variable, data)));
        }
        const drawing = charts.get(cause.variable);
        drawing.show({ ...common, lines: [{ name: "value", ...trace }] });
        return causeItem(cause, drawing.node);
      });
      const left = alert.causes.slice(LISTED);
      if (left.length) {
        const share = left.reduce((sum, cause) => sum + cause.share, 0);
        items.push(make("li", { class: "card more" },
          `and ${count(left.length, "more variable")} with ${percent(share)} together`));
      }
      if (!items.length) items.push(make("li", { class: "card more" }, "No single variable stands out."));
      fill(node, ...items);
    },
  };
}

function causeItem(cause, drawing) {
  const bar = styled(make("i", {}), "width", `${Math.min(100, Math.max(0, 100 * cause.share)).toFixed(1)}%`);
  const joint = cause.jointWith.length
    ? make("p", { class: "detail" }, `share held jointly with ${cause.jointWith.slice(0, MOST_JOINT).join(", ")}`
      + `${cause.jointWith.length > MOST_JOINT ? ", ..." : ""}`) : null;
  return make("li", { class: drawing ? "card cause" : "card cause plain", "data-variable": cause.variable },
    make("div", { class: "cause-words" },
      make("p", { class: "name" }, cause.variable),
      make("div", { class: "bar", "aria-hidden": "true" }, bar),
      make("p", { class: "share" }, make("b", {}, percent(cause.share)), `, ${cause.kind}: ${kindWords(cause.kind)}`),
      make("p", { class: "detail" }, cause.detail), joint),
    drawing);
}

function describe(variable, data) {
  const values = data.lines[0].values.filter((value) => value !== null);
  if (!values.length) return `${variable} was not observed`;
  return `${variable} around the alert, from ${figure(Math.min(...values))} to ${figure(Math.max(...values))}`;
}
