// Zone: the choice between the visitor's own time zone and UTC.

const KEY = "smkc-zone";
const MINUTE = 60_000;

/** Whether the visitor has chosen UTC. */
export const isUniversal = kept() === "UTC";

/** Return the milliseconds by which the shown time is ahead of UTC at a moment. */
export const ahead = (ms) => (isUniversal ? 0 : -new Date(ms).getTimezoneOffset() * MINUTE);

/** Return the zone's name at a moment: UTC, UTC+2 or UTC-3:30. */
export function zone(ms) {
  const minutes = ahead(ms) / MINUTE;
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  const rest = size % 60 ? `:${String(size % 60).padStart(2, "0")}` : "";
  return `UTC${minutes < 0 ? "-" : "+"}${Math.floor(size / 60)}${rest}`;
}

/** Return whether the visitor's own zone differs from UTC at a moment. */
export const isElsewhere = (ms) => new Date(ms).getTimezoneOffset() !== 0;

/** Switch between UTC and the visitor's own zone. */
export function changeZone() {
  keep(isUniversal ? "" : "UTC");
  location.reload();
}

// A browser may refuse access to storage; then the visitor's own zone is used.
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
