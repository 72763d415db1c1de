// Loudest: the variables that are most unusual now, though nothing alerts.

import { fill, make } from "./dom.js";
import { figure, kindWords } from "./words.js";

/** A list of variables; ``show`` takes them, the loudest first. */
export function loudestList() {
  const node = make("ol", { class: "loudest" });
  return {
    node,
    show(variables) {
      const items = variables.map(item);
      fill(node, ...(items.length ? items : [make("li", {}, "No variable is unusual.")]));
    },
  };
}

function item(one) {
  const value = one.value === null ? "not observed" : `now ${figure(one.value)}`;
  const band = one.lower === null || one.upper === null ? ""
    : `, usually ${figure(one.lower)} to ${figure(one.upper)}`;
  const times = Math.max(1, Math.round(1 / Math.max(one.pValue, 1e-9)));
  const rare = `as unusual in about 1 row of ${figure(Number(times.toPrecision(2)))}`;
  return make("li", { "data-variable": one.variable },
    make("p", { class: "name" }, one.variable),
    make("p", { class: "detail" }, `${value}${band}; ${kindWords(one.kind)}, ${rare}`));
}
