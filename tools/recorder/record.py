"""Recording of a system that follows a schedule, with Prometheus and a log of what happened.

In: the class of a system, a folder, a seed and the lengths of the phases. Out: in that folder,
schedule.json and machine.json before the start, log.jsonl line by line, and the storage of
Prometheus.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from tools.recorder.isolation import INSIDE, run_isolated
from tools.recorder.kinds import Kind
from tools.recorder.machine import busy_processors, machine_facts, versions
from tools.recorder.schedule import Phases, Schedule, make_schedule
from tools.recorder.system import System
from tools.stack.processes import missing_programs
from tools.stack.timeline import Timeline

__all__ = ["missing_packages", "record"]

TICK_SECONDS = 0.1
LOAD_EVERY_SECONDS = 10.0


def record(
    system: type[System], folder: Path, seed: int, phases: Phases, kinds: tuple[str, ...] = ()
) -> int:
    """Record until the end of the schedule; return 0 on success.

    Parameters
    ----------
    system
        the system to record.
    folder
        new folder for all files.
    seed
        seed of the schedule, the names and the load.
    phases
        lengths of the phases.
    kinds
        kinds of faults; by default all. Kinds whose program is missing are left out.
    """
    if missing := missing_packages(system):
        raise SystemExit(f"not installed: apt install {' '.join(missing)}")
    if (folder / "schedule.json").exists():
        raise SystemExit(f"{folder} holds a recording; give a new folder")
    chosen = [kind for kind in system.kinds if not kinds or kind.name in kinds]
    allowed = [kind for kind in chosen if _is_allowed(kind)]
    if unknown := set(kinds).difference(kind.name for kind in system.kinds):
        known = ", ".join(kind.name for kind in system.kinds)
        raise SystemExit(f"no such kind: {', '.join(sorted(unknown))}; there are {known}")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    schedule = make_schedule(system.name, allowed, system.routines, seed, phases)
    _write(folder / "schedule.json", schedule.record())
    busy = busy_processors(phases.rest)
    facts = {
        **machine_facts(),
        "busy_processors_before": round(busy, 3),
        "packages": versions(system.programs().values()),
        "python": ".".join(map(str, sys.version_info[:3])),
        "left_out": [kind.name for kind in chosen if kind not in allowed],
    }
    _write(folder / "machine.json", facts)
    return run_isolated(lambda: _follow(system, schedule), folder)


def missing_packages(system: type[System]) -> list[str]:
    """Return the Debian packages that a system needs and that are not installed."""
    programs = system.programs()
    return sorted({programs[name] for name in missing_programs(programs)})


def _is_allowed(kind: Kind) -> bool:
    return not kind.needs or shutil.which(kind.needs) is not None


def _follow(kind: type[System], schedule: Schedule) -> None:
    """Start the system, carry out the schedule and end the system; runs inside the namespaces."""
    timeline = Timeline(INSIDE)
    system = kind(INSIDE, schedule.seed, timeline)
    try:
        system.start()
        begun = time.time()
        timeline.log("start", warm=schedule.phases.warm, reference=schedule.phases.reference)
        for action in schedule.actions:
            do = _begin if action.do == "fault" else _change
            timeline.later(begun + action.at, do, system, action.do, action.about)
        _log_load(timeline)
        while time.time() < begun + schedule.phases.total:
            timeline.do_due()
            timeline.carry_out(system.look_after)
            time.sleep(TICK_SECONDS)
        timeline.log("end")
    finally:
        system.close()


def _change(system: System, do: str, about: dict[str, Any]) -> None:
    getattr(system, f"do_{do}")(about)


def _begin(system: System, do: str, given: dict[str, Any]) -> None:
    """Begin a fault and schedule its end."""
    about = dict(given)
    begun = time.time()
    stop = system.begin(about)
    system.timeline.log("begin", **about)

    def finish() -> None:
        ended = time.time()
        system.timeline.carry_out(stop)
        system.timeline.log("fault", begun=round(begun, 3), ended=round(ended, 3), **about)

    system.timeline.later(begun + about["seconds"], finish)


def _log_load(timeline: Timeline) -> None:
    timeline.log("load", load1=os.getloadavg()[0])
    timeline.soon(LOAD_EVERY_SECONDS, _log_load, timeline)


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
