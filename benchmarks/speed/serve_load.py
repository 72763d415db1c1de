"""How many series one service follows: seconds a row, memory and disk, over simulated time.

In: series, steps, lives, shards. Out: a line of JSON per process. The service is the real one, held
to one core; its clock is not: when it would wait for the next step, the step comes at once. A step
is held if a row takes less time than the step is long; the lag of a row is what it takes. Shards
are measured one after another, each in a process of its own, with all series in every response. Run
it with ``python -m benchmarks.speed.serve_load --series 10000``, or for shards with ``--series
100000 --entities 40 --shards 4 --history-rows 300``.
"""

import argparse
import concurrent.futures
import json
import logging
import multiprocessing
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
from smkc.serve.config import Shard, config_of
from smkc.serve.service import Service

STEP = 15_000
START = 1_760_000_000_000 // STEP * STEP
NOTES = 20  # number of memory measurements
USUAL = {
    **{"series": 10_000, "steps": 240, "life": 0, "steady": 0, "history-rows": 1440},
    **{"entities": 0, "shards": 1},
}


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
    series: int,
    steps: int,
    life: int,
    steady: int,
    history_rows: int,
    jump: int,
    core: int,
    entities: int = 0,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """Follow ``series`` series for ``steps`` steps; return times, memory and disk usage."""
    shard = shard or Shard()
    played = Played(n_series=series, life=life, steady=steady, step=STEP, entities=entities)
    with (
        served(played) as url,
        tempfile.TemporaryDirectory() as folder,
    ):
        os.sched_setaffinity(0, {core})
        clock = JumpingClock(jump)
        config = config_of(
            {
                "data": str(Path(folder) / "data"),
                "prometheus": {"url": url, "timeout": "10m"},
                "retention": {"rows": "7d"},
                "watch": [
                    {
                        "name": "load",
                        "query": '{job="played"}',
                        "history": f"{history_rows * STEP // 1000}s",
                        "max_series": 2 * series,
                        "entity": "ns" if entities else "",
                        "max_lanes": max(entities, 1),
                    }
                ],
            }
        )
        config = config if shard.of == 1 else config.of_shard(shard)
        began = time.perf_counter()
        with Service(config, clock) as service:
            while not (lanes := service.watches()[0].lanes) or any(
                lane.latest is None for lane in lanes
            ):
                time.sleep(0.2)
            first_score = time.perf_counter() - began
            begun_at = _rows(service)
            clock.is_jumping = True
            process, memory = psutil.Process(), []
            for part in range(1, NOTES + 1):
                while _rows(service) < begun_at + steps * part / NOTES:
                    time.sleep(0.2)
                memory.append(process.memory_info().rss / 2**20)
            clock.is_jumping = False
            status, n_rows = service.watches()[0], _rows(service)
            size = service.store.size_bytes() / 2**20
    taken = np.diff(clock.stamps) / jump
    return {
        "series": series,
        "followed": status.series,
        "entities": len(status.lanes),
        "shard": f"{shard.number}/{shard.of}",
        "names": series + (series - steady) * (n_rows // life) if life else series,
        "steps": n_rows - begun_at,
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
            f"--life {life} --steady {steady} --history-rows {history_rows} --jump {jump} "
            f"--entities {entities} --shards {shard.of}"
        ),
    }


def _rows(service: Service) -> int:
    """Return the number of rows of the lane that has fewest."""
    return min(lane.rows for lane in service.watches()[0].lanes)


def main() -> None:
    """Measure once and print the result."""
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in USUAL.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--jump", type=int, default=1, help="steps that come at once")
    parser.add_argument("--core", type=int, default=0, help="the core that the service is held to")
    given = parser.parse_args()
    sizes = given.series, given.steps, given.life, given.steady, given.history_rows
    for number in range(1, given.shards + 1):
        shard = Shard(number=number, of=given.shards)
        arguments = (*sizes, given.jump, given.core, given.entities, shard)
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as apart:
            print(json.dumps(apart.submit(measure, *arguments).result()), flush=True)


if __name__ == "__main__":
    main()
