// API: requests to the service, and conversion of its answers to objects for the pages.
//
// No other script depends on the format of the service's JSON. Times are milliseconds since 1970.

/** Error of a request: status (0 without an answer), message, and seconds to wait, or null. */
export class Refused extends Error {
  constructor(status, message, retryAfter = null) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

const PATIENCE = 20_000;

async function ask(path, options = {}) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PATIENCE);
  try {
    const answer = await fetch(path, {
      ...options, signal: stop.signal, credentials: "same-origin",
    });
    if (answer.status === 401) {
      const next = location.pathname + location.search;
      location.assign(`/login?next=${encodeURIComponent(next)}`);
    }
    const content = await answer.json().catch(() => ({}));
    if (!answer.ok) {
      const seconds = Number.parseInt(answer.headers.get("Retry-After"), 10);
      throw new Refused(answer.status, content.error ?? `the service answered ${answer.status}`,
        Number.isFinite(seconds) ? seconds : null);
    }
    return content;
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Refused(0, "the service does not answer");
  } finally {
    clearTimeout(timer);
  }
}

function path(parts, query = {}) {
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = (value) =>
    String(typeof value === "number" ? Math.max(0, Math.round(value)) : value);
  const pairs = asked.flatMap(([name, value]) => [value].flat().map((one) => [name, text(one)]));
  const search = new URLSearchParams(pairs).toString();
  return `/api/v1/${parts.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

function post(parts, content, query = {}) {
  return ask(path(parts, query), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });
}

// ------------------------------------------------------------------------------- requests

// Milliseconds by which the service's clock is ahead of the browser's.
let ahead = 0;

/** Return the service's time. */
export const now = () => Date.now() + ahead;

/** Return every watch with its lanes. */
export async function watches() {
  const answer = await ask(path(["watches"]));
  ahead = answer.now - Date.now();
  return answer.watches.map(watchOf);
}

/** Return the scores of a lane as columns, thinned to at most ``points``. */
export async function scores(watch, entity, since, until, points) {
  return scoresOf(await ask(path(["watches", watch, "scores"], { entity, since, until, points })));
}

/** Return the presence of a lane's variables: names, times, and a share per name and time. */
export async function presence(watch, entity, since, until, columns, names) {
  return presenceOf(
    await ask(path(["watches", watch, "presence"], { entity, since, until, columns, names })),
  );
}

/** Return the readings of some variables by name, each with its usual band, or null. */
export async function traces(watch, entity, names, since, until) {
  const query = { entity, name: names, since, until };
  return tracesOf(await ask(path(["watches", watch, "traces"], query)));
}

/** Return the most unusual variables of the latest row, most unusual first. */
export async function loudest(watch, entity) {
  const answer = await ask(path(["watches", watch, "loudest"], { entity }));
  return answer.variables.map(({ p_value: pValue, ...one }) => ({ ...one, pValue }));
}

/** Return the variables that have a new normal which nobody has confirmed, the latest first. */
export async function newNormals(watch, entity) {
  return (await ask(path(["watches", watch, "new-normals"], { entity }))).variables;
}

/** Say whether the new normal of a variable is one; return those that are left. */
export async function answerNewNormal(watch, entity, variable, isNormal) {
  const content = { variable, is_normal: isNormal };
  return (await post(["watches", watch, "new-normals"], content, { entity })).variables;
}

/** Return alerts, newest first. */
export async function alerts(query = {}) {
  const answer = await ask(path(["alerts"], query));
  return answer.alerts.map(alertOf);
}

/** Return one alert. */
export async function alert(id) {
  return alertOf(await ask(path(["alerts", id])));
}

/** Return incidents, newest first. */
export async function incidents(query = {}) {
  const answer = await ask(path(["incidents"], query));
  return answer.incidents.map(incidentOf);
}

/** Return one incident. */
export async function incident(id) {
  return incidentOf(await ask(path(["incidents", id])));
}

/** Return the visitor's session: { needsToken, name, role }. */
export async function session() {
  const answer = await ask(path(["session"]));
  return { needsToken: answer.needs_token, name: answer.name, role: answer.role };
}

/** Return the marked spans of a lane, newest first, and the number of all by kind. */
export const spans = (watch, entity, since, until) =>
  ask(path(["watches", watch, "spans"], { entity, since, until }));

export const mark = (watch, span) => post(["watches", watch, "spans"], span);
export const endSpan = (watch, id) => post(["watches", watch, "spans", String(id), "end"], {});
export const deleteSpan = (watch, id) =>
  ask(path(["watches", watch, "spans", String(id)]), { method: "DELETE" });
export const logout = () => fetch("/logout", { method: "POST", credentials: "same-origin" });
export const acknowledge = (id, note) => post(["alerts", id, "acknowledge"], { note });
export const giveFeedback = (id) => post(["alerts", id, "feedback"], {});

// ------------------------------------------------------------------------------- conversion

function watchOf(one) {
  const lanes = one.lanes.map((lane) => laneOf(lane, one));
  return {
    name: one.name,
    source: one.source,
    step: one.step,
    phase: one.phase,
    progress: one.progress,
    rows: one.rows,
    problems: one.problems,
    lanes,
  };
}

function laneOf(lane, watch) {
  return {
    watch: lane.watch,
    entity: lane.entity,
    step: watch.step,
    phase: lane.phase,
    progress: watch.progress,
    rows: lane.rows,
    rowsNeeded: lane.rows_needed,
    timeLeft: lane.time_left,
    series: lane.series,
    lastTime: lane.last_time,
    latest: lane.latest ? verdictOf(lane.latest) : null,
    alert: lane.alert ? alertOf(lane.alert) : null,
    selfTest: lane.self_test,
    problems: lane.problems,
  };
}

/** Convert a verdict. */
function verdictOf(one) {
  return {
    time: one.time,
    anomaly: one.anomaly,
    cardinality: one.cardinality,
    appeared: one.appeared,
    vanished: one.vanished,
    evidences: one.evidences,
  };
}

/** Convert an alert. */
function alertOf(one) {
  return {
    id: one.id,
    watch: one.watch,
    entity: one.entity,
    start: one.start,
    end: one.end,
    peak: one.peak,
    anomaly: one.anomaly,
    pValue: one.p_value,
    isOpen: one.is_open,
    isMuted: one.is_muted,
    evidences: one.evidences,
    causesAt: one.causes_at,
    causesAnomaly: one.causes_anomaly,
    causes: one.causes.map((cause) => ({
      variable: cause.variable,
      share: cause.share,
      kind: cause.kind,
      detail: cause.detail,
      jointWith: cause.joint_with,
      query: cause.query,
      links: cause.links,
    })),
    acknowledgedAt: one.acknowledged_at ?? null,
    acknowledgements: one.acknowledgements,
    feedback: one.feedback ?? "",
    incident: one.incident ?? "",
  };
}

/** Convert an incident. */
function incidentOf(one) {
  const timeline = one.timeline.map(({ is_open: isOpen, in_common: inCommon, ...step }) =>
    ({ ...step, isOpen, inCommon }));
  return {
    id: one.id,
    start: one.start,
    end: one.end,
    isOpen: one.is_open,
    timeline,
    blame: one.likely_to_blame,
  };
}

function scoresOf(answer) {
  return {
    times: answer.times,
    anomaly: answer.anomaly,
    cardinality: answer.cardinality,
    appeared: answer.appeared,
    vanished: answer.vanished,
    evidences: answer.evidences,
  };
}

function presenceOf(answer) {
  return { names: answer.names, times: answer.times, share: answer.seen };
}

function tracesOf(answer) {
  return new Map(answer.traces.map(({ name, times, values, lower, upper }) =>
    [name, { times, values, usual: lower && { times, lower, upper } }]));
}
