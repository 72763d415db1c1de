// Spans: the times that people marked, on the charts of a watch and in a list, and a form for more.

import { askFor } from "./alert_actions.js";
import * as api from "./api.js";
import { announce, fill, make } from "./dom.js";
import { reach } from "./ranges.js";
import { clock, count, span as fromTo, visible } from "./words.js";
import { ahead, zone } from "./zone.js";

const KINDS = {
  missed: { title: "Missed fault", words: "This was a fault you missed" },
  maintenance: { title: "Maintenance", words: "Maintenance" },
  deploy: { title: "Deploy", words: "A new version was deployed" },
};
const LONGEST_NOTE = 2000;

/** Return spans as marks of a chart; one without an end lasts until ``until``. */
export function marksOf(spans, until) {
  return spans.map((one) => ({
    start: one.start, end: one.end ?? Math.max(until, one.start), kind: one.kind,
    label: wordsOf(one),
  }));
}

/**
 * Make the list of a lane's spans, and a form if the visitor may act.
 *
 * ``onChange`` is called after each change. ``suggest`` of the result fills in the times of the
 * form: of a part that was selected on a chart, else none.
 */
export function spanPanel(lane, { isSplit, mayAct, onChange }) {
  const told = make("p", { class: "note" });
  const list = make("ul", { class: "spans" });
  const form = mayAct ? markForm(lane, isSplit, onChange) : null;
  let shown = "";
  return {
    node: make("div", {}, told, list, form?.node),
    show({ spans, counts }) {
      const said = JSON.stringify([spans, counts]);
      if (said === shown) return; // the list stays, and its buttons keep the focus
      shown = said;
      fill(told, spans.length ? `${count(counts.missed, "missed fault")} so far.`
        : "Nothing is marked in this time.");
      fill(list, ...spans.map((one) => itemOf(one, mayAct, onChange)));
    },
    suggest(range) {
      const { since, until } = range.until === null ? { since: null, until: null } : reach(range);
      form?.suggest(since, until);
    },
  };
}

function wordsOf(one) {
  const when = one.end === null ? `from ${clock(one.start)} on`
    : one.end === one.start ? clock(one.start) : fromTo(one.start, one.end);
  const said = one.note ? `: ${one.note}` : "";
  return visible(`${KINDS[one.kind]?.title ?? one.kind}, ${when}${said}`);
}

function itemOf(one, mayAct, onChange) {
  const whose = one.entity === null ? "the whole watch" : one.entity;
  const isOpen = one.start <= api.now() && (one.end === null || one.end > api.now());
  const button = (verb, words, act) => make("button", {
    type: "button", class: "plain", id: `${verb.split(" ")[0].toLowerCase()}-${one.id}`, on: {
      click: () => askFor({ title: `${verb}?`, words, hasNote: false, verb,
        act: () => act().then(onChange) }),
    },
  }, verb);
  return make("li", { "data-span": one.id },
    make("b", { class: `span-kind ${one.kind}` }, wordsOf(one)),
    ` (${whose}, marked by ${one.who}) `,
    mayAct && one.id && isOpen ? button("End now", "It lasts until now, and no longer.",
      () => api.endSpan(one.watch, one.id)) : null, " ",
    mayAct && one.id ? button("Delete", "It is as if it had never been marked.",
      () => api.deleteSpan(one.watch, one.id)) : null);
}

function markForm(lane, isSplit, onChange) {
  const time = (id) => make("input", { id, type: "datetime-local", step: "1" });
  const kind = make("select", { id: "mark-kind" }, ...Object.entries(KINDS)
    .map(([name, one]) => make("option", { value: name }, one.words)));
  const start = time("mark-start"), end = time("mark-end");
  const note = make("input", { id: "mark-note", type: "text", maxlength: LONGEST_NOTE });
  const whole = make("input", { id: "mark-whole", type: "checkbox" });
  const refusal = make("p", { class: "refused", role: "alert" });
  const send = make("button", { type: "submit", class: "strong", id: "mark" }, "Mark");
  const field = (words, input) => make("p", {}, make("label", { for: input.id }, words), input);
  const submit = async (event) => {
    event.preventDefault();
    send.disabled = true;
    fill(refusal);
    try {
      await api.mark(lane.watch, {
        kind: kind.value, start: instantOf(start.value), end: instantOf(end.value),
        entity: isSplit && !whole.checked ? lane.entity : null, note: note.value.trim(),
      });
      note.value = "";
      announce("Marked.");
      await onChange();
    } catch (error) {
      fill(refusal, `This was not done: ${error.message}`);
    } finally {
      send.disabled = false;
    }
  };
  const node = make("form", { class: "marking", on: { submit } },
    field("What", kind), field(`From, ${zone(api.now())} (empty: now)`, start),
    field("To (may be left empty)", end), field("Note (may be left empty)", note),
    isSplit ? field("The whole watch", whole) : null, make("p", {}, send), refusal);
  return {
    node,
    suggest(since, until) {
      start.value = valueOf(since);
      end.value = valueOf(until);
    },
  };
}

/** Return a moment, or null, as the value of an input, in the zone that is shown. */
function valueOf(ms) {
  if (ms === null) return "";
  const whole = Math.round(ms / 1000) * 1000;
  return new Date(whole + ahead(whole)).toISOString().slice(0, 19);
}

/** Return the moment that an input shows; null if it is empty. */
function instantOf(value) {
  if (!value) return null;
  const shown = Date.parse(`${value}Z`);
  return shown - ahead(shown - ahead(shown));
}
