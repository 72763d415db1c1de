// Incident list: a table of incidents with links to their pages.

import { fill, make } from "./dom.js";
import { stateSign } from "./state.js";
import { clock, count, duration, laneName, metric } from "./words.js";

const shown = new WeakMap();

/** Return the URL of an incident's page. */
export const incidentAddress = (incident) => `/incidents/${encodeURIComponent(incident.id)}`;

/** Return the names of an incident's lanes, first to move first. */
export const lanesOf = (incident) => [...new Set(incident.timeline.map(laneName))];

/** Return the title of an incident: who is likely to blame, and how many others alerted. */
export function incidentTitle(incident) {
  const { blame } = incident;
  const others = lanesOf(incident).length - 1;
  const what = blame.variable ? `: ${metric(blame.variable)}` : "";
  return `${laneName(blame)}${others ? ` and ${count(others, "other recording")}` : ""}${what}`;
}

/** Return a sign for whether an incident goes on. */
export const incidentSign = ({ isOpen }) => stateSign(
  isOpen ? { kind: "alert", words: "open" } : { kind: "over", words: "over" });

/** Show a table of incidents in a node, which is hidden without any; unchanged, it stays. */
export function showIncidents(node, incidents) {
  const said = JSON.stringify(incidents);
  if (shown.get(node) === said) return;
  shown.set(node, said);
  node.hidden = !incidents.length;
  const names = ["State", "Likely to blame", "Began", "Lasted", "Alerts"];
  fill(node, make("h2", { id: "incidents" }, "Incidents"),
    make("div", { role: "table", "aria-labelledby": "incidents", class: "card" },
      make("div", { role: "rowgroup" }, make("div", { role: "row", class: "incident-row head" },
        ...names.map((name) => make("span", { role: "columnheader" }, name)))),
      make("div", { role: "rowgroup" }, ...incidents.map(incidentRow))));
}

function incidentRow(incident) {
  const cell = (name, ...content) =>
    make("span", { role: "cell", class: `cell ${name}` }, ...content);
  return make("div", { role: "row", class: "incident-row", "data-incident": incident.id },
    cell("state-cell", incidentSign(incident)),
    cell("what", make("a", { href: incidentAddress(incident) }, incidentTitle(incident))),
    cell("when", clock(incident.start)),
    cell("lasted", incident.isOpen ? "goes on" : duration(incident.end - incident.start)),
    cell("worst", count(incident.timeline.length, "alert")));
}
