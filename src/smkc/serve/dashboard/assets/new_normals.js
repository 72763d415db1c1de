// New normals: variables that stay unusual, and whether that is normal now.

import * as api from "./api.js";
import { fill, make } from "./dom.js";
import { ago, figure } from "./words.js";

/** Make a list of lasting changes; ``show`` takes them. Only those who may act get buttons. */
export function newNormalList(lane, { mayAct, onFailure }) {
  const node = make("ul", { class: "new-normals" });
  const show = (variables) => {
    const items = variables.map((one) => item(one, mayAct ? answer : null));
    fill(node, ...(items.length ? items : [make("li", {}, "None waits for an answer.")]));
  };
  const answer = (variable, isNormal) =>
    api.answerNewNormal(lane.watch, lane.entity, variable, isNormal).then(show).catch(onFailure);
  return { node, show };
}

function item(one, answer) {
  const since = one.since === null ? "long ago" : ago(one.since, api.now());
  const change = one.now === null ? "" : `: ${figure(one.now)}, ${figure(one.before)} before`;
  const button = (words, isNormal) => make("button", { type: "button", on: {
    click: () => answer(one.variable, isNormal),
  } }, words);
  return make("li", { "data-variable": one.variable },
    make("p", { class: "name" }, one.variable),
    make("p", { class: "detail" }, `changed ${since}${change}`),
    answer === null ? null : make("p", {}, button("This is normal now", true), " ",
      button("No, it is a fault", false)));
}
