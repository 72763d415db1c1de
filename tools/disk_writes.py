"""Measurement of the bytes that a lane writes to disk, by kind of file.

In: numbers of series and rows, ``python -m tools.disk_writes 953 1200``. Out: a line of JSON with
megabytes. Rows are synthetic and are judged without waiting; a tenth of the names changes every 75
rows.
"""

import json
import os
import re
import sys
import tempfile
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any

import numpy as np

from smkc.serve.config import config_of
from smkc.serve.lane import Lane
from smkc.serve.lane.files import LaneFiles
from smkc.serve.rows import Row
from smkc.serve.store import Store

STEP = 2_000
START = 1_700_000_000_000
ROLLOUT_ROWS = 75
CONSTANT_SHARE = 0.4  # share of a node exporter's series that hardly ever change


def made_row(rng: np.random.Generator, number: int, n_series: int) -> Row:
    """Return a row of random values, of which a share is constant."""
    generation = number // ROLLOUT_ROWS
    names = [
        f'metric_{i % 120}{{device="{i if i % 10 else f"{i}-{generation}"}"}}'
        for i in range(n_series)
    ]
    size = 1.0 + np.arange(n_series) % 97
    moving = np.arange(n_series) >= CONSTANT_SHARE * n_series
    values = size * (1.0 + 0.1 * moving * rng.normal(size=n_series))
    order = np.argsort(names)
    return Row(
        time=START + number * STEP,
        names=tuple(names[i] for i in order),
        values=values[order].astype(np.float32),
    )


def written(n_series: int, n_rows: int, folder: Path) -> dict[str, Any]:
    """Follow synthetic rows with a lane in a folder; return the megabytes by kind of file."""
    by_kind: Counter[str] = Counter()
    replace = os.replace

    def counted(source: Any, target: Any, **further: Any) -> None:
        by_kind[re.sub(r"-\d.*", "", Path(target).stem)] += os.stat(source).st_size
        replace(source, target, **further)

    watch = {"name": "shop", "source": "push", "step": f"{STEP}ms", "history": "6h"}
    config = config_of({"data": str(folder), "watch": [watch]})
    rng = np.random.default_rng(20260131)
    os.replace = counted
    try:
        with Store.open(folder) as store:
            journal = store.lane("shop", "")
            files = LaneFiles(folder / "lanes" / str(journal.id))
            lane = Lane(store, journal, config.watches[0], config, files, deque())
            before = _written_bytes()
            for number in range(n_rows):
                lane.take([made_row(rng, number, n_series)])
                lane.look_after_model()
            while lane.model.is_refitting:
                time.sleep(0.1)
                lane.look_after_model()
            lane.stop()
            total = _written_bytes() - before
    finally:
        os.replace = replace
    by_kind["all of the process"] = total
    return {kind: round(n_bytes / 1e6, 1) for kind, n_bytes in sorted(by_kind.items())}


def _written_bytes() -> int:
    """Return the bytes that this process has written so far, as counted by Linux."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        sys.stdout.write(json.dumps(written(int(sys.argv[1]), int(sys.argv[2]), Path(made))) + "\n")
