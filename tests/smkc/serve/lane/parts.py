"""What the tests of a lane share: a lane in a folder, rows fed to it, and all that it said."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tests.following import push_config

from smkc.serve.config import Config
from smkc.serve.lane.files import LaneFiles
from smkc.serve.lane.lane import Lane
from smkc.serve.rows import AlertRecord, Row
from smkc.serve.store import Store

N_ROWS, LEAST = 420, 240
FAULT = (310, 321)
CUT = 316  # in the middle of it


@contextmanager
def lane_in(
    folder: Path, *, checkpoint_rows: int = 64, config: Config | None = None
) -> Iterator[Lane]:
    config = config or push_config(folder)
    store = Store.open(folder)
    journal = store.lane("shop", "")
    files = LaneFiles(folder / "lanes" / str(journal.id))
    lane = Lane(store, journal, config.watches[0], config, files, deque(), checkpoint_rows)
    try:
        yield lane
    finally:
        lane.model.stop()
        store.close()


def feed(lane: Lane, rows: Sequence[Row]) -> None:
    n_more = max(LEAST - lane.journal.n_rows, 0)
    lane.take(rows[:n_more])
    lane.look_after_model()
    for row in rows[n_more:]:
        lane.take([row])
        lane.look_after_model()


def told(lane: Lane) -> tuple[dict[str, Any], list[AlertRecord], list[str]]:
    """Return everything that a lane has said."""
    columns = lane.journal.verdicts(None, None, 10_000)
    alerts = [stored.record for stored in lane._store.alerts(limit=1000)]
    with lane._store._database.read("look into the outbox") as connection:
        keys = [
            bytes(key).decode()
            for (key,) in connection.execute("SELECT key FROM outbox ORDER BY id")
        ]
    plain = {name: np.nan_to_num(column, nan=-1.0).tolist() for name, column in columns.items()}
    return plain, alerts, keys
