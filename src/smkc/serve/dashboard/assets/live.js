// Live: live updates by a stream of events, or by polling while the stream is broken.
//
// The page shows whether the stream is open, whether it polls every few seconds, or whether polling
// fails too and the connection is lost.

import { LIVE, now, setNow, watches } from "./api.js";
import { byId } from "./dom.js";
import { timeOfDay } from "./words.js";
import { zone } from "./zone.js";

const POLL = 5_000;
const RETRY_LEAST = 2_000;
const RETRY_MOST = 30_000;
const SILENT = 60_000;
const KINDS = ["row", "alert", "status", "heartbeat"];

const WORDS = {
  connecting: "connecting",
  live: "live",
  polling: "asking every few seconds",
  lost: "connection lost",
};

/** Follow the service: call ``onEvent(kind, content)`` for each event, ``onLook`` to reload. */
export function follow(onEvent, onLook) {
  let source = null;
  let poller = null;
  let wait = RETRY_LEAST;
  let heard = Date.now();
  let lastGood = null;

  const tell = (state) => {
    if (state === "live" || state === "polling") lastGood = now();
    const sign = byId("connection");
    if (sign.dataset.state !== state) {
      sign.dataset.state = state;
      sign.textContent = WORDS[state];
    }
    const isLost = state === "lost";
    const banner = byId("lost");
    if (isLost && banner.hidden) {
      const since = lastGood === null ? ""
        : ` This is what was known at ${timeOfDay(lastGood)} ${zone(lastGood)}.`;
      banner.textContent = `Connection lost: the service does not answer.${since} Trying again.`;
    }
    banner.hidden = !isLost;
  };

  const poll = async () => {
    try {
      const known = await watches();
      if (poller !== null) {
        tell("polling");
        onLook(known);
      }
    } catch (error) {
      if (poller !== null) tell(error.status === 0 || error.status >= 500 ? "lost" : "polling");
    }
    if (poller !== null) poller = setTimeout(poll, POLL);
  };

  const stopPolling = () => {
    clearTimeout(poller);
    poller = null;
  };

  const broken = () => {
    source?.close();
    source = null;
    if (poller === null) {
      poller = 0;
      poll();
    }
    setTimeout(connect, wait);
    wait = Math.min(2 * wait, RETRY_MOST);
  };

  const connect = () => {
    if (source !== null) return;
    source = new EventSource(LIVE);
    heard = Date.now();
    source.onopen = () => {
      const wasAway = poller !== null;
      heard = Date.now();
      wait = RETRY_LEAST;
      stopPolling();
      tell("live");
      if (wasAway) onLook(null);
    };
    source.onerror = broken;
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        heard = Date.now();
        tell("live");
        const content = JSON.parse(event.data);
        const latest = content.now ?? content.verdict?.time ?? 0;
        if (kind === "heartbeat" || latest > now()) setNow(latest);
        if (kind !== "heartbeat") onEvent(kind, content);
      });
    }
  };

  setInterval(() => {
    if (source !== null && Date.now() - heard > SILENT) broken();
  }, SILENT / 4);
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  tell("connecting");
  connect();
}
