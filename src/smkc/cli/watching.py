"""Terminal output of ``smkc watch``.

In: a running service. Out: progress, alerts and problems on standard error as they occur, one line
each; a summary on standard output with ``--once``.
"""

import sys
from typing import Any

from smkc.cli.printing import cause_record, console
from smkc.errors import SmkcError
from smkc.recording.visible import visible
from smkc.serve.messages import instant, link_to
from smkc.serve.rows import AlertRecord
from smkc.serve.service import Service
from smkc.serve.view import LaneStatus, WatchStatus

# Steps in which progress is reported: COARSE if standard error is not a terminal, otherwise FINE.
COARSE, FINE = 0.25, 0.01

# Number of failures of a source after which ``--once`` gives up.
MOST_FAILURES = 3

MOST_CAUSES = 3

# Number of characters of a problem that are repeated when it is over.
MOST_RECALLED = 100

WORDS = {
    "backfilling": "fetching history",
    "collecting": "collecting rows",
    "fitting": "learning what is normal",
    "following": "following",
    "waiting": "waiting",
}


class Reporter:
    """Printer of progress, alerts and problems of a running service on standard error."""

    def __init__(self, service: Service, quiet: bool) -> None:
        self._service, self._quiet = service, quiet
        self._number = 0
        self._told: dict[str, tuple[Any, ...]] = {}
        self._problems: set[str] = set()
        self._open: dict[tuple[str, str], str] = {}  # id of the alert reported for each recording
        self._is_terminal = sys.stderr.isatty()
        self._is_line_open = False
        self._url = service.config.public_url

    def begin(self, url: str | None) -> None:
        """Print the address of the dashboard, and how to stop the service."""
        self._url = self._url or url or ""
        if url is not None:
            self._say(f"Dashboard and API at {self._url}")
        self._say("Press Ctrl-C to stop. The next start continues from there.")

    def end(self) -> None:
        """Print that the service is stopping; writing checkpoints may take a moment."""
        self._say("Stopping: writing checkpoints.")

    def look(self, *, with_problems: bool = True) -> None:
        """Print what happened since the last call."""
        if self._quiet:
            return
        for status in self._service.watches():
            self._tell_progress(status)
        for update in self._service.subscribe().after(self._number):
            self._number = update.number
            if update.alert is not None:
                self._tell_alert(update.alert)
        if not with_problems:
            return
        # Give a watch by its name alone, as in the lines of progress.
        told = self._service.health().problems
        problems = {problem.removeprefix("watch ") for problem in told}
        for problem in sorted(self._problems - problems):
            is_long = len(problem) > MOST_RECALLED
            self._say(f"Over: {problem[:MOST_RECALLED]}{'...' * is_long}")
        for problem in sorted(problems - self._problems):
            self._say(f"Problem: {problem}")
        self._problems = problems

    def _tell_alert(self, alert: AlertRecord) -> None:
        """Print that an alert opened, got worse or closed."""
        who = alert.watch, alert.entity
        where = f"{alert.watch}, {alert.entity}" if alert.entity else alert.watch
        start, end = instant(alert.start), instant(alert.end)
        if not alert.is_open:
            self._open.pop(who, None)
            self._say(f"Closed: {where}, {start} to {end}")
            return
        word = "Worse" if self._open.get(who) == alert.id else "ALERT"
        self._open[who] = alert.id
        causes = "; ".join(cause.who for cause in alert.causes[:MOST_CAUSES])
        blame = f": {causes}" if causes else ""
        self._say(f"{word}: {where} since {start}, anomaly {alert.anomaly:.2f}{blame}")
        if link := link_to(alert, self._url):
            self._say(f"  {link}")

    def _tell_progress(self, status: WatchStatus) -> None:
        unit = FINE if self._is_terminal else COARSE
        words = f"{status.name}: {WORDS[status.phase]}"
        share = 0.0
        if status.phase == "backfilling":
            share = int(status.progress / unit) * unit
            words += f", {share:.0%}"
        elif status.phase == "collecting":
            share, more = self._collected(status)
            share = int(share / unit) * unit
            words += more
        elif status.rows:
            words += f", {status.rows:,} rows of {status.series:,} series so far"
        state = (status.phase, share)
        if self._told.get(status.name) == state or status.phase == "waiting":
            return
        self._told[status.name] = state
        is_passing = status.phase in ("backfilling", "collecting")
        self._say(words, stays=not is_passing)

    def _collected(self, status: WatchStatus) -> tuple[float, str]:
        """Return the share of rows collected for the first model, and the same in words.

        It is that of the fullest recording without a model.
        """
        lanes = [lane for lane in status.lanes if lane.phase == "collecting"]
        if not lanes:
            return 0.0, ", none so far"
        fullest = max(lanes, key=lambda lane: lane.rows)
        needed = max(fullest.rows_needed, 1)
        said = f", {fullest.rows:,} of {needed:,}"
        if len(status.lanes) > 1:
            said += f" in the fullest of {len(lanes):,} recordings"
        if fullest.time_left:
            said += f", {fullest.time_left}"
        return fullest.rows / needed, said

    def _say(self, text: str, *, stays: bool = True) -> None:
        """Print a line with its time; if it does not stay, the next replaces it on a terminal."""
        if self._quiet:
            return
        second = f"{instant(self._service.now())[:19]}Z"
        plain = f"{second[11:] if self._is_terminal else second} {visible(text)}"
        if not self._is_terminal:
            print(plain, file=sys.stderr, flush=True)
            return
        clear = "\r\x1b[K" if self._is_line_open else ""
        print(f"{clear}{plain}", end="\n" if stays else "", file=sys.stderr, flush=True)
        self._is_line_open = not stays


def caught_up(service: Service) -> bool:
    """Return whether every watch has judged its latest row or is still collecting rows.

    Raise SmkcError if a source has failed MOST_FAILURES times.
    """
    steps = {watch.name: watch.step + watch.lateness for watch in service.config.watches}
    for status in service.watches():
        if sum(status.errors.values()) >= MOST_FAILURES and status.last_error:
            raise SmkcError(f"watch {status.name!r}: {status.last_error}")
        if status.phase not in ("collecting", "following"):
            return False
        if status.lanes and min(lane.lag for lane in status.lanes) > 2 * steps[status.name]:
            return False
        if any(lane.phase == "following" and lane.latest is None for lane in status.lanes):
            return False
    return True


def summary_record(service: Service) -> list[dict[str, Any]]:
    """Return the state of every lane as dictionaries for JSON."""
    return [
        {
            "watch": lane.watch,
            "entity": lane.entity,
            "phase": lane.phase,
            "rows": lane.rows,
            "series": lane.series,
            "anomaly": None if lane.latest is None else lane.latest.anomaly,
            "p_value": None if lane.latest is None else lane.latest.p_value,
            "alert": None
            if lane.alert is None
            else {
                "id": lane.alert.id,
                "start": instant(lane.alert.start),
                "causes": [cause_record(cause) for cause in lane.alert.causes],
            },
            "problems": list(lane.problems),
        }
        for status in service.watches()
        for lane in status.lanes
    ]


def summary(service: Service) -> None:
    """Print the state of every lane."""
    screen = console()
    lanes = [lane for status in service.watches() for lane in status.lanes]
    if not lanes:
        screen.print("Nothing was observed: the query gives no series. Try it in Prometheus.")
    for lane in lanes:
        screen.print(visible(_lane_line(lane)), markup=False)
        for cause in () if lane.alert is None else lane.alert.causes[:MOST_CAUSES]:
            screen.print(visible(f"  {cause}"), markup=False)


def _lane_line(lane: LaneStatus) -> str:
    where = f"{lane.watch}, {lane.entity}" if lane.entity else lane.watch
    size = f"{lane.rows:,} rows, {lane.series:,} series in the latest"
    if lane.latest is None:
        return (
            f"{where}: too few rows to learn from so far, {lane.rows:,} of {lane.rows_needed:,} "
            f"({lane.series:,} series in the latest); wait for more, or give a longer --history"
        )
    verdict = "an alert is open" if lane.alert is not None else "nothing unusual"
    return (
        f"{where}: {verdict}; anomaly {lane.latest.anomaly:.2f} (more than 1 is anomalous), "
        f"p = {lane.latest.p_value:.2g} ({size})"
    )
