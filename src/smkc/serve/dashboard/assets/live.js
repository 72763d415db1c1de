// Live: asks the service for news every few seconds, and shows whether it answers.

import { now, watches } from "./api.js";
import { byId } from "./dom.js";
import { timeOfDay } from "./words.js";
import { zone } from "./zone.js";

const POLL = 5_000;
const WORDS = { live: "live", lost: "connection lost" };

/** Follow the service: call ``onLook`` with the status of every watch, again and again. */
export function follow(onLook) {
  let lastGood = null;

  const tell = (state) => {
    if (state === "live") lastGood = now();
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
      tell("live");
      onLook(known);
    } catch (error) {
      if (error.status === 0 || error.status >= 500) tell("lost");
    }
    setTimeout(poll, POLL);
  };

  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  poll();
}
