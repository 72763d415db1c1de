// Loudest: the most unusual variables now, whether or not there is an alert.

import { fill, make } from "./dom.js";
import { figure, kindWords, oneIn } from "./words.js";

/** Make a list of variables; ``show`` takes them, most unusual first. */
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
  const rare = `as unusual in at most 1 normal row of ${oneIn(one.pValue)}`;
  return make("li", { "data-variable": one.variable },
    make("p", { class: "name" }, one.variable),
    make("p", { class: "detail" }, `${value}${band}; ${kindWords(one.kind)}, ${rare}`));
}
