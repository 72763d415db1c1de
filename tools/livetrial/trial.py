"""The trial, which carries out a schedule on the live stack while ``smkc watch`` runs.

In: a folder, a schedule, and settings of the watch that differ from their defaults. Out: the
outcome; in that folder, schedule.json before the start, log.jsonl line by line, the storage of
Prometheus, and outcome.json.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.livetrial.export import export_from
from tools.livetrial.faults import begin
from tools.livetrial.outcome import Outcome, judge
from tools.livetrial.schedule import Action, Schedule
from tools.livetrial.stack import Stack
from tools.livetrial.watching import Watch
from tools.stack.timeline import Timeline, read_log

__all__ = ["run_trial"]

TICK_SECONDS = 0.1

# Seconds from the death of a part until it is started again.
DOWN_SECONDS = 5.0

# Seconds from the start of a new pod until the old one leaves the targets, and until it ends.
OVERLAP_SECONDS, DRAIN_SECONDS = 4.0, 6.0


def run_trial(
    folder: Path,
    schedule: Schedule,
    *,
    watches: bool = True,
    settings: Mapping[str, int | str] | None = None,
    out: Path | None = None,
) -> Outcome | None:
    """Run a trial.

    Parameters
    ----------
    folder
        new folder for all files of the trial.
    schedule
        rollouts and faults with their times.
    watches
        whether to run ``smkc watch`` from the end of the reference on.
    settings
        settings of the watch that differ from their defaults.
    out
        folder for the dataset; None to write none.

    Returns
    -------
    outcome
        the comparison of faults and alerts; None without a watch.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plan = json.dumps(schedule.record(), indent=1)
    (folder / "schedule.json").write_text(plan, encoding="utf-8")
    with Stack(folder, schedule.seed) as stack:
        sys.stdout.write(f"Prometheus answers at {stack.url} while this goes on\n")
        sys.stdout.flush()
        trial = Trial(folder, schedule, stack, settings or {})
        outcome = trial.follow(watches=watches)
        if out is not None:
            export_from(folder, stack.url, out)
    return outcome


class Trial(Timeline):
    """A timeline that carries out the actions of a schedule."""

    def __init__(
        self,
        folder: Path,
        schedule: Schedule,
        stack: Stack,
        settings: Mapping[str, int | str],
    ) -> None:
        super().__init__(folder)
        self.schedule, self.stack, self.settings = schedule, stack, settings
        self._watch: Watch | None = None

    def follow(self, *, watches: bool) -> Outcome | None:
        """Carry out the schedule, starting now, and return the outcome."""
        phases = self.schedule.phases
        self.stack.start_pods(self.schedule.pods)
        begun = time.time()
        self.log("start", **asdict(phases))
        done_by = {"rollout": self._roll_out, "fault": self._begin_fault, "kill": self._kill}
        for action in self.schedule.actions:
            self.later(begun + action.at, done_by[action.do], action)
        if watches:
            self.later(begun + phases.live_from, self._start_watch)
        try:
            while time.time() < begun + self.schedule.total:
                self.do_due()
                time.sleep(TICK_SECONDS)
        finally:
            self.log("end")
            record = None if self._watch is None else self._watch.record()
            alerts = [] if self._watch is None else self._watch.close()
        if record is None:
            return None
        if record["first_scored"] is None:
            raise SystemExit(f"smkc watch judged no row; see {self.folder / 'watch' / 'watch.log'}")
        log = read_log(self.folder)
        faults, kills = ([one for one in log if one["what"] == what] for what in ("fault", "kill"))
        outcome = judge(faults, alerts, record["first_scored"], time.time(), kills)
        content = json.dumps({**record, "outcome": asdict(outcome)}, indent=1)
        (self.folder / "outcome.json").write_text(content, encoding="utf-8")
        return outcome

    def carry_out(self, step: Callable[[], object]) -> None:
        """Do a step; an error ends the trial."""
        step()

    def _start_watch(self) -> None:
        self._watch = Watch(self.folder / "watch", self.stack.url, **self.settings)
        self.log("watch", seconds=self.schedule.phases.pause)

    def _roll_out(self, action: Action) -> None:
        about: dict[str, Any] = action.about
        self.stack.start_pods([(about["service"], about["new"])])
        now = time.time()
        self.later(now + OVERLAP_SECONDS, self.stack.retire, about["old"])
        self.later(now + DRAIN_SECONDS, self.stack.finish, about["old"])
        self.log("rollout", seconds=DRAIN_SECONDS, **about)

    def _kill(self, action: Action) -> None:
        part, now = action.about["part"], time.time()
        if part == "watch":
            if self._watch is not None:
                self._watch.kill()
                self.later(now + DOWN_SECONDS, self._watch.start)
        else:
            self.stack.end(part, kill=True)
            self.later(now + DOWN_SECONDS, self.stack.start_again, part)
        self.log("kill", begun=round(now, 3), ended=round(now + DOWN_SECONDS, 3), part=part)

    def _begin_fault(self, action: Action) -> None:
        about: dict[str, Any] = action.about
        begun = time.time()
        finish = begin(self.stack, about)
        # Log the load: on a busy machine a processor hog or a writer may have no visible effect.
        self.log("begin", load=os.getloadavg()[0], **about)

        def end() -> None:
            ended = time.time()
            finish()
            self.log("fault", begun=round(begun, 3), ended=round(ended, 3), **about)

        self.later(begun + about["seconds"], end)
