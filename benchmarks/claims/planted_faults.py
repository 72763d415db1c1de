"""Planted faults: how many the default detector finds, beside how many were wanted.

In: seeds, and real recordings found through ``SMKC_DATA``; without it, only the made-up cases run.
Out: a page and a JSON file for ``results/``. Run it with ``python -m
benchmarks.claims.planted_faults --out results/planted_faults.md`` (two minutes on 2 cores).
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.alerts.columns import LABELLED, QUIET
from benchmarks.claims.planted import by_doctor, hours, made_up, vanishing
from benchmarks.claims.planted.counts import Count
from benchmarks.claims.planted.page import page
from benchmarks.provenance import circumstances
from benchmarks.report import strict_json, write_whole
from benchmarks.running import run_all
from smkc.errors import ReadError

COUNT_SEEDS, GAUSSIAN_SEEDS = range(8), range(3)
SEASON_KINDS = ("rows", "dates", "four weeks", "noise")


@dataclass(frozen=True)
class Job:
    """One part of a case, measured by one process."""

    case: str
    part: str

    def __str__(self) -> str:
        return f"{self.case}: {self.part}"

    def counts(self) -> list[Count]:
        """Plant the faults and count what was found."""
        if self.case == "counts":
            return [made_up.shifted_count(int(self.part))]
        if self.case == "gaussian":
            return [made_up.shifted_gaussian(int(self.part))]
        if self.case == "season":
            return [made_up.seasons_found(self.part)]
        if self.case == "wrong hour":
            return hours.wrong_hour(self.part)
        if self.case == "vanished":
            return vanishing.vanished(self.part)
        return by_doctor.doctor(self.part)


def all_jobs() -> list[Job]:
    """Return all jobs, in the order of the page."""
    parts: dict[str, Sequence[object]] = {
        "counts": COUNT_SEEDS,
        "gaussian": GAUSSIAN_SEEDS,
        "season": SEASON_KINDS,
        "wrong hour": tuple(hours.SEASONAL),
        "vanished": (*LABELLED, *QUIET),
        "doctor": by_doctor.DOCTOR_FILES,
    }
    return [Job(case, str(part)) for case, some in parts.items() for part in some]


def measured(jobs: Sequence[Job], *, processes: int = 1) -> tuple[list[Count], list[str]]:
    """Return the counts of the jobs, in order, and the names of jobs whose data are missing."""
    with TemporaryDirectory() as folder:
        # The longest jobs are last on the page; they begin first.
        run_all(jobs[::-1], partial(_save, folder=Path(folder)), processes=processes)
        saved = [json.loads(_path(Path(folder), job).read_text(encoding="utf-8")) for job in jobs]
    counts = [Count(**one) for some in saved if some is not None for one in some]
    return counts, [str(job) for job, some in zip(jobs, saved, strict=True) if some is None]


def _save(job: Job, folder: Path) -> None:
    """Run a job, save its counts or null if its data are missing, and report it."""
    started = time.monotonic()
    try:
        counts = job.counts()
    except ReadError as error:
        write_whole(_path(folder, job), "null\n")
        print(f"{job}: left out: {error}", file=sys.stderr, flush=True)
        return
    write_whole(_path(folder, job), strict_json([asdict(one) for one in counts]))
    told = ", ".join(f"{one.case} {one.found} of {one.of}" for one in counts)
    print(f"{job}: {told} ({time.monotonic() - started:.0f} s)", file=sys.stderr, flush=True)


def _path(folder: Path, job: Job) -> Path:
    return folder / f"{job.case}-{job.part.replace('/', '-')}.json"


def content_of(
    counts: Sequence[Count], left_out: Sequence[str], provenance: Mapping[str, str]
) -> dict[str, Any]:
    """Return the content of the JSON file, from which the page is made."""
    return {
        "provenance": dict(provenance),
        "left_out": list(left_out),
        "counts": [asdict(one) for one in counts],
    }


def main() -> None:
    """Measure, write the page and its JSON file if ``--out`` is given, and print the page."""
    parser = argparse.ArgumentParser(prog="benchmarks.claims.planted_faults", description=__doc__)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the page as Markdown")
    parser.add_argument("--processes", type=int, default=2, help="jobs at a time; 2 by default")
    options = parser.parse_args()
    where = circumstances("python -m benchmarks.claims.planted_faults")
    counts, left_out = measured(all_jobs(), processes=options.processes)
    content = content_of(counts, left_out, where)
    if options.out is not None:
        write_whole(options.out.with_suffix(".json"), strict_json(content))
        write_whole(options.out, page(content))
    print(page(content))


if __name__ == "__main__":
    main()
