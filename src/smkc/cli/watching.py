"""Terminal output of ``smkc watch``.

In: a running service. Out: progress, alerts and problems on standard error as they occur, one line
each.
"""

import sys
from typing import Any

from smkc.recording.visible import visible
from smkc.serve.messages import instant, link_to
from smkc.serve.rows import AlertRecord
from smkc.serve.service import Service
from smkc.serve.view import WatchStatus

# Share of the history, or of the rows to collect, after which progress is reported again.
PROGRESS = 0.25

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
        self._told: dict[str, tuple[Any, ...]] = {}
        self._problems: set[str] = set()
        # By recording: the id of the alert that was reported last, and whether it was muted.
        self._open: dict[tuple[str, str], tuple[str, bool]] = {}
        self._url = service.config.public_url

    def begin(self, url: str) -> None:
        """Print the address of the dashboard, and how to stop the service."""
        self._url = self._url or url
        self._say(f"Dashboard and API at {self._url}")
        self._say("Press Ctrl-C to stop. The next start continues from there.")

    def end(self) -> None:
        """Print that the service is stopping; writing checkpoints may take a moment."""
        self._say("Stopping: writing checkpoints.")

    def look(self) -> None:
        """Print what happened since the last call."""
        if self._quiet:
            return
        for status in self._service.watches():
            self._tell_progress(status)
        while self._service.alert_changes:
            self._tell_alert(self._service.alert_changes.popleft())
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
        if alert.is_muted:
            where = f"{where} (maintenance, not sent)"
        if not alert.is_open:
            self._open.pop(who, None)
            self._say(f"Closed: {where}, {start} to {end}")
            return
        told = alert.id, alert.is_muted
        word = "Worse" if self._open.get(who) == told else "ALERT"
        self._open[who] = told
        causes = "; ".join(cause.who for cause in alert.causes[:MOST_CAUSES])
        blame = f": {causes}" if causes else ""
        self._say(f"{word}: {where} since {start}, anomaly {alert.anomaly:.2f}{blame}")
        if link := link_to(alert, self._url):
            self._say(f"  {link}")

    def _tell_progress(self, status: WatchStatus) -> None:
        words = f"{status.name}: {WORDS[status.phase]}"
        share = 0.0
        if status.phase == "backfilling":
            share = int(status.progress / PROGRESS) * PROGRESS
            words += f", {share:.0%}"
        elif status.phase == "collecting":
            share, more = self._collected(status)
            share = int(share / PROGRESS) * PROGRESS
            words += more
        elif status.rows:
            words += f", {status.rows:,} rows of {status.series:,} series so far"
        state = (status.phase, share)
        if self._told.get(status.name) == state or status.phase == "waiting":
            return
        self._told[status.name] = state
        self._say(words)

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

    def _say(self, text: str) -> None:
        """Print a line with its time."""
        if not self._quiet:
            second = f"{instant(self._service.now())[:19]}Z"
            print(f"{second} {visible(text)}", file=sys.stderr, flush=True)
