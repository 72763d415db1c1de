// Login: sends the token once, to this service, and goes on to where the visitor wanted to be.

import { byId } from "./dom.js";

/** Where to go afterwards: a page of this service, whatever the address says. */
function destination() {
  const wanted = new URLSearchParams(location.search).get("next") ?? "/";
  const target = new URL(wanted, location.origin);
  // A path such as "/.//host" becomes "//host", which by itself names another host.
  const isOurs = target.origin === location.origin && !target.pathname.startsWith("//")
    && !target.pathname.startsWith("/login");
  return isOurs ? target.href : "/";
}

byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = byId("token");
  const refused = byId("refused");
  refused.textContent = "";
  field.removeAttribute("aria-invalid");
  try {
    const answer = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token: field.value }),
      credentials: "same-origin",
    });
    if (answer.ok) {
      location.replace(destination());
      return;
    }
    const content = await answer.json().catch(() => ({}));
    refused.textContent = content.error ?? `the service answered ${answer.status}`;
  } catch {
    refused.textContent = "the service does not answer; try again";
  }
  field.setAttribute("aria-invalid", "true");
  field.select();
  field.focus();
});
