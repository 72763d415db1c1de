// Login page: sends the token to the service and opens the page that the visitor wanted.

import { byId } from "./dom.js";

/** Return the URL to open after the login; "/" rather than one that is malformed or elsewhere. */
function destination() {
  const wanted = new URLSearchParams(location.search).get("next") ?? "/";
  let target;
  try {
    target = new URL(wanted, location.origin);
  } catch { // a TypeError: it is no URL
    return "/";
  }
  // A path such as "/.//host" is normalized to "//host", which would name another host.
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
