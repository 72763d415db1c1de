// Main: the entry point; shows the page of the URL and passes news to it.

import * as alertPage from "./alert.js";
import * as api from "./api.js";
import { byId, fill, make } from "./dom.js";
import * as fleetPage from "./fleet.js";
import * as incidentPage from "./incident.js";
import { follow } from "./live.js";
import * as watchPage from "./watch.js";
import { visible } from "./words.js";
import { changeZone, isElsewhere, isUniversal, zone } from "./zone.js";

const TRY_AGAIN = 2_000;

const main = byId("content");

const page = {
  /** Whether the visitor may acknowledge and give feedback. */
  mayAct: false,
  /** Set the title of the page. */
  title(words) {
    document.title = visible(`${words} - smkc`);
  },
  /** Set the breadcrumbs: pairs of text and URL; null for the current page. */
  trail(steps) {
    const home = make("li", {}, make("a", { href: "/", class: "home" }, "smkc"));
    fill(byId("trail"), home, ...steps.map(([words, address]) => make("li", {},
      address ? make("a", { href: address }, words)
        : make("span", { "aria-current": "page" }, words))));
  },
  /** Show that the page could not be loaded. */
  failed(error) {
    fill(main, make("h1", {}, error.status === 404 ? "Not there" : "This cannot be shown"),
      make("p", { class: "sub" }, error.message),
      make("p", {}, make("a", { href: "/" }, "Back to the fleet")));
    page.title("Not there");
  },
};

/** Show the visitor's name, with a button to log out or a link to log in. */
function greet(visitor) {
  page.mayAct = visitor.role === "admin";
  const place = byId("visitor");
  place.hidden = !visitor.needsToken;
  const leave = () => api.logout().finally(() => location.assign("/login"));
  const way = { type: "button", class: "plain", on: { click: leave } };
  fill(place, visitor.name ? make("button", way, `Log out ${visitor.name}`)
    : make("a", { href: "/login" }, "Log in"));
}

/** Show the time zone, with a button to switch between UTC and the visitor's own. */
function tellZone() {
  const now = Date.now();
  const other = make("button", { type: "button", class: "plain", on: { click: changeZone } },
    isUniversal ? "show your own" : "show UTC");
  fill(byId("zone"), zone(now), ...(isElsewhere(now) ? [" (", other, ")"] : []));
}

async function start() {
  tellZone();
  const [, kind, name] = location.pathname.split("/").map(decoded);
  const pages = { watches: watchPage, incidents: incidentPage, alerts: alertPage };
  const shown = pages[kind] ?? fleetPage;
  let view = null, isMissing = false, again = null;
  const open = async () => {
    try {
      main.setAttribute("aria-busy", "true");
      view = await shown.show(main, page, name);
    } catch (error) {
      isMissing = error.status === 404;
      console.warn(error.message);
      page.failed(error);
    } finally {
      main.removeAttribute("aria-busy");
    }
  };
  await api.session().then(greet).catch((error) => console.warn(error.message));
  await open();
  // Retry a page that could not be loaded, unless it does not exist.
  const tryAgain = () => {
    if (view !== null || isMissing) return;
    again ??= setTimeout(() => { again = null; open(); }, TRY_AGAIN);
  };
  follow((found) => (view ? view.look(found) : tryAgain()));
  tryAgain();
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

start();
