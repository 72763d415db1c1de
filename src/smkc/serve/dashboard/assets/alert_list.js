// Alert list: a table of alerts with links to their pages.

import { make } from "./dom.js";
import { alertAddress, alertSigns, laneAddress } from "./state.js";
import { alertTitle, clock, duration, laneName, score } from "./words.js";

/** Return a table of alerts; ``withLane`` adds a column with the lane. */
export function alertList(alerts, { withLane = false } = {}) {
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
