"""Follows made-up rows in processes that are killed at random moments, until all rows are taken.

In: a folder, a seed, how many kills, how many rows. Out: the folder, with all that the lane said.
Run as a program: ``python -m tests.kill_nine FOLDER SEED KILLS ROWS``; it forks what it kills.
"""

import os
import random
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tests.following import made_rows, push_config, with_fault

from smkc.serve.lane.files import LaneFiles
from smkc.serve.lane.lane import Lane
from smkc.serve.store import Store

LEAST, FAULT, ACCEPT, REFIT, SWAP = 240, (300, 311), 335, 340, 350
CHECKPOINT_ROWS = 16

# Seconds that a process lives at most; some live long enough to see a fit beside to its end.
SHORT, LONG, OFTEN = 0.3, 6.0, 0.05

EVERY = 180  # rows after which there is a fault again


@contextmanager
def lane_in(folder: Path) -> Iterator[Lane]:
    """Open a lane in a folder."""
    config = push_config(folder)
    with Store.open(folder) as store:
        journal = store.lane("shop", "")
        files = LaneFiles(folder / "lanes" / str(journal.id))
        yield Lane(store, journal, config.watches[0], config, files, deque(), CHECKPOINT_ROWS)


def follow(folder: Path, n_rows: int, limit: int) -> None:
    """Take the rows that are left; between two of them accept an alert and swap a model.

    At ``limit``, if that is before the end, wait to be killed.
    """
    rows = made_rows(3, n_rows)
    for first in range(FAULT[0], n_rows, EVERY):
        rows = with_fault(rows, first, first + FAULT[1] - FAULT[0])
    with lane_in(folder) as lane:
        while (number := lane.journal.n_rows) < n_rows:
            if number >= limit:
                time.sleep(0.01)
                continue
            kinds = [event.kind for event in lane.journal.events(0)]
            if number == ACCEPT and "accept" not in kinds:
                lane.accept(lane._store.alerts()[-1].record.id)
            if number == REFIT and not lane.model.is_refitting:
                lane.refit("a test")
            if number == SWAP and kinds.count("fit") < 2:
                lane.model._beside._process.wait()
                lane.model.look_beside()
            if lane.model.wants_fit:
                lane.model.fit("the first rows are there")
            lane.take([rows[number]])
        lane.stop()


def told(folder: Path) -> dict[str, Any]:
    """Return everything that was said."""
    with Store.open(folder) as store:
        journal = store.lane("shop", "")
        columns = journal.verdicts(None, None, 1_000_000)
        with store._database.read("look into the outbox") as connection:
            found = connection.execute("SELECT key FROM outbox ORDER BY id").fetchall()
        return {
            "columns": {k: np.nan_to_num(v, nan=-1.0).tolist() for k, v in columns.items()},
            "alerts": [stored.record for stored in store.alerts(limit=1000)],
            "incidents": store.incidents(limit=1000),
            "keys": [bytes(key).decode() for (key,) in found],
            "events": [(event.at_row, event.kind, event.content) for event in journal.events(0)],
            "set aside": [path.name for path in store.set_aside],
            "damaged": sorted(path.name for path in folder.rglob("*damaged*")),
        }


def main() -> None:
    folder, n_kills, n_rows = Path(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4])
    rng = random.Random(int(sys.argv[2]))
    n_left = n_kills
    with tempfile.TemporaryDirectory() as name:  # what is compiled here, no child waits for
        follow(Path(name), LEAST + 40, LEAST + 40)
    while True:
        child = os.fork()
        if child == 0:
            try:
                done = n_kills - n_left + 1
                follow(folder, n_rows, n_rows * done // (n_kills + 1))
                os._exit(0)
            except BaseException as error:
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                sys.stderr.flush()
                os._exit(3)
        if n_left:
            time.sleep(rng.uniform(0.0, LONG if rng.random() < OFTEN else SHORT))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            sys.stdout.write(str(n_kills - n_left))
            return
        if code != -signal.SIGKILL:
            sys.exit(f"a process ended with {code}")
        n_left -= 1


if __name__ == "__main__":
    main()
