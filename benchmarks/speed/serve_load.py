"""How many series one service follows: seconds a row, memory and disk, over simulated time.

In: series, steps, lives. Out: a line of JSON. The service is the real one, held to one core; its
clock is not: when it would wait for the next step, the step comes at once. A step is held if a row
takes less time than the step is long; the lag of a row is what it takes. Run it with
``python -m benchmarks.speed.serve_load --series 10000``.
"""

import argparse
import json
import logging
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.provenance import circumstances
from benchmarks.speed.played_prometheus import Played, served
from smkc.serve.clock import Clock
from smkc.serve.config import config_of
from smkc.serve.service import Service

STEP = 15_000
START = 1_760_000_000_000 // STEP * STEP
NOTES = 20  # number of memory measurements
USUAL = {"series": 10_000, "steps": 240, "life": 0, "steady": 0, "history-rows": 1440}


class JumpingClock(Clock):
    """Clock that jumps to the next step when the watch waits, and records when it did."""

    def __init__(self, jump: int) -> None:
        self._now = START
        self._jump = jump
        self.is_jumping = False
        self.stamps: list[float] = []

    def now(self) -> int:
        """Return the simulated time in milliseconds."""
        return self._now

    def sleep(self, seconds: float, until: threading.Event) -> None:
        """Advance the time at once if the watch waits and jumping is on; otherwise really wait."""
        if not threading.current_thread().name.endswith("load") or not self.is_jumping:
            until.wait(min(seconds, 0.05))
            return
        self.stamps.append(time.perf_counter())
        self._now += self._jump * STEP


def measure(
    series: int, steps: int, life: int, steady: int, history_rows: int, jump: int, core: int
) -> dict[str, Any]:
    """Follow ``series`` series for ``steps`` steps; return times, memory and disk usage."""
    with (
        served(Played(n_series=series, life=life, steady=steady, step=STEP)) as url,
        tempfile.TemporaryDirectory() as folder,
    ):
        os.sched_setaffinity(0, {core})
        clock = JumpingClock(jump)
        config = config_of(
            {
                "data": str(Path(folder) / "data"),
                "prometheus": {"url": url, "timeout": "10m"},
                "retention": {"rows": "1d"},
                "watch": [
                    {
                        "name": "load",
                        "query": '{job="played"}',
                        "history": f"{history_rows * STEP // 1000}s",
                        "max_series": 2 * series,
                    }
                ],
            }
        )
        began = time.perf_counter()
        with Service(config, clock) as service:
            while not service.watches()[0].lanes or service.watches()[0].lanes[0].latest is None:
                time.sleep(0.2)
            first_score = time.perf_counter() - began
            begun_at = service.watches()[0].rows
            clock.is_jumping = True
            process, memory = psutil.Process(), []
            for part in range(1, NOTES + 1):
                while service.watches()[0].rows < begun_at + steps * part / NOTES:
                    time.sleep(0.2)
                memory.append(process.memory_info().rss / 2**20)
            clock.is_jumping = False
            status = service.watches()[0]
            size = service.store.size_bytes() / 2**20
    taken = np.diff(clock.stamps) / jump
    return {
        "series": series,
        "names": series + (series - steady) * (status.rows // life) if life else series,
        "steps": status.rows - begun_at,
        "first_score_s": round(first_score, 1),
        "row_median_ms": round(1e3 * float(np.median(taken)), 1),
        "row_p99_ms": round(1e3 * float(np.quantile(taken, 0.99)), 1),
        "row_largest_ms": round(1e3 * float(taken.max()), 1),
        "rows_per_jump": jump,
        "memory_mib": [round(x) for x in memory],
        "store_mib": round(size),
        "window": status.lanes[0].window,
        "problems": list(status.problems),
        "refused": status.refused,
        **circumstances(
            f"python -m benchmarks.speed.serve_load --series {series} --steps {steps} "
            f"--life {life} --steady {steady} --history-rows {history_rows} --jump {jump}"
        ),
    }


def main() -> None:
    """Measure once and print the result."""
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in USUAL.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--jump", type=int, default=1, help="steps that come at once")
    parser.add_argument("--core", type=int, default=0, help="the core that the service is held to")
    given = parser.parse_args()
    print(
        json.dumps(
            measure(
                given.series,
                given.steps,
                given.life,
                given.steady,
                given.history_rows,
                given.jump,
                given.core,
            )
        )
    )


if __name__ == "__main__":
    main()
