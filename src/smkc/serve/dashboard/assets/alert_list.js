// Alert list: a table of alerts with links to their pages.

import { fill, make } from "./dom.js";
import { alertAddress, alertSigns, laneAddress } from "./state.js";
import { alertTitle, clock, duration, laneName, score } from "./words.js";

const shown = new WeakMap();

/** Show a table of alerts in a node; if nothing changed, it stays, and links keep the focus. */
export function showAlerts(node, alerts, { withLane = false } = {}) {
  const said = JSON.stringify(alerts.map((one) => [one.id, one.isOpen, one.isMuted, one.anomaly,
    one.acknowledgedAt, one.feedback, alertTitle(one)]));
  if (shown.get(node) === said) return;
  shown.set(node, said);
  fill(node, alertList(alerts, withLane));
}

function alertList(alerts, withLane) {
  if (!alerts.length) return make("p", { class: "note" }, "No alert in what is kept.");
  const whose = withLane ? ["Recording"] : [];
  const names = ["State", ...whose, "What", "Began", "Lasted", "Worst score"];
  const head = make("div", { role: "row", class: "alert-row head" },
    ...names.map((name) => make("span", { role: "columnheader" }, name)));
  const look = withLane ? "card alerts with-lane" : "card alerts";
  return make("div", { role: "table", "aria-label": "Alerts", class: look },
    make("div", { role: "rowgroup" }, head),
    make("div", { role: "rowgroup" }, ...alerts.map((alert) => alertRow(alert, withLane))));
}

function alertRow(alert, withLane) {
  const cell = (name, ...content) =>
    make("span", { role: "cell", class: `cell ${name}` }, ...content);
  return make("div", { role: "row", class: "alert-row", "data-alert": alert.id },
    cell("state-cell", ...alertSigns(alert)),
    withLane ? cell("name", make("a", { href: laneAddress(alert) }, laneName(alert))) : null,
    cell("what", make("a", { href: alertAddress(alert) }, alertTitle(alert))),
    cell("when", clock(alert.start)),
    cell("lasted", alert.isOpen ? "goes on" : duration(alert.end - alert.start)),
    cell("worst", score(alert.anomaly)));
}
