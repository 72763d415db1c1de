// Actions: acknowledging an alert, and marking it as normal; both ask for confirmation.

import * as api from "./api.js";
import { announce, fill, make } from "./dom.js";

const LONGEST_NOTE = 1000;

/** Return the buttons of an alert; ``onDone`` is called with the changed alert, or null. */
export function actions(alert, onDone) {
  const done = async (words) => {
    announce(words);
    onDone(await api.alert(alert.id).catch(() => null));
  };
  const isSeen = alert.acknowledgedAt !== null;
  const verb = isSeen ? "Acknowledge again" : "Acknowledge";
  const parts = [make("button", {
    type: "button", class: isSeen ? null : "strong", id: verb.toLowerCase().replace(" ", "-"), on: {
      click: () => askFor({
        title: isSeen ? "Acknowledge this alert again?" : "Acknowledge this alert?",
        words: isSeen ? "A further note joins those before it."
          : "Others see that somebody looks after it. It stays open until the system calms down.",
        hasNote: true,
        verb,
        act: (note) => api.acknowledge(alert.id, note).then(() => done("Acknowledged.")),
      }),
    },
  }, verb)];
  if (!alert.feedback) {
    parts.push(make("button", { type: "button", id: "feedback", on: {
      click: () => askFor({
        title: "Was this normal?",
        words: "What happened during this alert joins what counts as normal: the like of it will "
          + "not alarm again. This cannot be taken back, short of fitting anew.",
        hasNote: false,
        verb: "Yes, this was normal",
        act: () => api.giveFeedback(alert.id).then(() => done("Taken as normal.")),
      }),
    } }, "This was normal"));
  }
  return parts;
}

/** Ask for confirmation in a dialog; if the action fails, stay open and show the reason. */
export function askFor({ title, words, hasNote, verb, act }) {
  const note = hasNote ? make("textarea", { id: "note", rows: 3, maxlength: LONGEST_NOTE }) : null;
  const refusal = make("p", { class: "refused", role: "alert" });
  const yes = make("button", { type: "submit", class: "strong", value: "yes" }, verb);
  const no = make("button", {
    type: "button", value: "no", on: { click: () => dialog.close() },
  }, "Cancel");
  const form = make("form", { method: "dialog", on: { submit: async (event) => {
    event.preventDefault();
    yes.disabled = true;
    fill(refusal);
    try {
      await act(note ? note.value.trim() : "");
      dialog.close();
    } catch (error) {
      fill(refusal, `This was not done: ${error.message}`);
      yes.disabled = false;
    }
  } } },
  make("h2", { id: "ask-title" }, title),
  make("p", { id: "ask-words" }, words),
  note ? make("label", { for: "note" }, "Note (may be left empty)") : null, note,
  refusal, make("div", { class: "actions" }, yes, no));
  const dialog = make("dialog", { "aria-labelledby": "ask-title", "aria-describedby": "ask-words",
    on: { close: () => dialog.remove() } }, form);
  document.body.append(dialog);
  dialog.showModal();
  (note ?? no).focus();
}
