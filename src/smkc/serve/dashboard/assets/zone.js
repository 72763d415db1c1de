// Zone: whether times are shown in the visitor's own zone or in UTC.

const KEY = "smkc-zone";
const MINUTE = 60_000;

/** Whether times are shown in UTC though the visitor lives elsewhere. */
export const isUniversal = kept() === "UTC";

/** How many milliseconds the shown time is ahead of UTC at a moment. */
export const ahead = (ms) => (isUniversal ? 0 : -new Date(ms).getTimezoneOffset() * MINUTE);

/** The zone's name at a moment: UTC, UTC+2 or UTC-3:30. */
export function zone(ms) {
  const minutes = ahead(ms) / MINUTE;
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  const rest = size % 60 ? `:${String(size % 60).padStart(2, "0")}` : "";
  return `UTC${minutes < 0 ? "-" : "+"}${Math.floor(size / 60)}${rest}`;
}

/** Whether the visitor's own zone is another than UTC. */
export const isElsewhere = (ms) => new Date(ms).getTimezoneOffset() !== 0;

/** Show all times in the other zone from now on. */
export function changeZone() {
  keep(isUniversal ? "" : "UTC");
  location.reload();
}

// A browser may refuse to keep anything; times are then the visitor's own.
function kept() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keep(name) {
  try {
    localStorage.setItem(KEY, name);
  } catch (error) {
    console.warn(error.message);
  }
}
