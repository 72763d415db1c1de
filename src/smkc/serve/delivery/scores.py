"""Scores: sending of every lane's scores to Prometheus by remote write.

In: the stored scores and the current time. Out: requests, and a file with the time up to which each
lane's scores were accepted.

Scores need no outbox: they are stored anyway, and one time per lane separates the scores that were
sent from those that were not. The latter are sent in batches, also after an outage of the receiver.
A process that dies before it has written the file sends the same samples again, which Prometheus
accepts. Scores from before a lane was first seen are not sent, since Prometheus refuses samples
that old.
"""

import contextlib
import json
import os
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.recording import identifier
from smkc.serve.config import Config, RemoteWriteConfig
from smkc.serve.decoding.remote_write import encode_remote_write
from smkc.serve.delivery.posting import Receiver
from smkc.serve.intake.samples import Samples
from smkc.serve.messages import address
from smkc.serve.store import LaneStore, Store

FILE = "scores-sent.json"

# Field of a verdict -> name of its metric, the same as in /metrics.
METRICS = {
    "anomaly": "anomaly_score",
    "p_value": "smkc_p_value",
    "cardinality": "smkc_cardinality",
}
EVIDENCE, EVIDENCE_METRIC = "evidence.", "smkc_evidence_nats"

# Maximum number of rows per lane in a request; no lane is added after this many samples.
MAX_ROWS_PER_WRITE = 500
MOST_SAMPLES = 10_000

WRITE_EVERY_MILLISECONDS = 5_000  # milliseconds

HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}

Lane = tuple[str, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """Scores of one lane up to a time: (n,) times, and (n,) values by column of the store."""

    lane: Lane
    until: int
    times: NDArray[np.int64]
    values: dict[str, NDArray[np.float64]]

    @property
    def n_samples(self) -> int:
        return len(self.times) * len(self.values)


class ScoreWriter:
    """Sends scores to one receiver; ``rng`` randomizes the waits after failures.

    ``steps`` are milliseconds per row, by watch.
    """

    def __init__(
        self, store: Store, config: Config, to: RemoteWriteConfig, rng: random.Random
    ) -> None:
        self._store = store
        self.steps = {watch.name: watch.step for watch in config.watches}
        self._labels = to.labels
        self.receiver = Receiver("remote_write", address(to.url), to, rng, answers_pages=False)
        self._path = store.path.parent / FILE
        self._taken: dict[Lane, int] | None = None
        self._looked_at: int | None = None

    def step(self, now: int) -> None:
        """Send new scores, if the interval between writes has passed."""
        if self.receiver.must_wait(now):
            return
        if self._looked_at is not None and 0 <= now - self._looked_at < WRITE_EVERY_MILLISECONDS:
            return
        self._looked_at = now
        if self._taken is None:
            self._taken = self._read()
        while parts := self._new(self._taken, now):
            if not self._send(parts, self._taken, now):
                break
        self._write(self._taken)

    def n_waiting(self) -> int:
        """Return the number of rows whose scores wait to be sent; callable from any thread.

        The number is computed from times, so it includes gaps until they have been read.
        """
        taken = dict(self._taken or {})  # a copy, since the sending thread may add lanes
        behind = 0
        for lane in self._store.lanes():
            until = taken.get((lane.watch, lane.entity))
            if until is not None and lane.last_time is not None and lane.watch in self.steps:
                behind += max(lane.last_time - until, 0) // self.steps[lane.watch]
        return behind

    # ------------------------------------------------------------------ new scores

    def _new(self, taken: dict[Lane, int], now: int) -> list[_Part]:
        """Return the scores for the next request, the oldest of each lane."""
        parts: list[_Part] = []
        n_samples = 0
        for lane in self._store.lanes():
            step = self.steps.get(lane.watch)
            if step is None or lane.last_time is None:
                continue
            after = taken.setdefault((lane.watch, lane.entity), now)
            while n_samples < MOST_SAMPLES and after < lane.last_time:
                part = _part(lane, after, step)
                after = part.until
                if len(part.times):
                    parts.append(part)
                    n_samples += part.n_samples
                    break
                taken[lane.watch, lane.entity] = after  # rows without a verdict, or a gap
        return parts

    def _samples(self, parts: list[_Part]) -> Samples:
        names: list[str] = []
        codes, times, values = [], [], []
        for part in parts:
            for what, column in part.values.items():
                said = np.isfinite(column)
                codes.append(np.full(int(said.sum()), len(names), np.int64))
                names.append(self._name(part.lane, what))
                times.append(part.times[said])
                values.append(column[said])
        samples = Samples(
            names=tuple(names),
            codes=np.concatenate(codes),
            times=np.concatenate(times),
            values=np.concatenate(values),
        )
        return samples.take(np.ones(len(samples), np.bool_))  # drops names without samples

    def _name(self, lane: Lane, what: str) -> str:
        metric = METRICS.get(what, EVIDENCE_METRIC)
        labels = {"watch": lane[0], "entity": lane[1], **self._labels}
        if metric == EVIDENCE_METRIC:
            labels["evidence"] = what.removeprefix(EVIDENCE)
        # The name of a lane may contain lone surrogates, which UTF-8 cannot encode.
        said = {name: text.encode("utf-8", "replace").decode() for name, text in labels.items()}
        return identifier(metric, {name: text for name, text in said.items() if text})

    # ------------------------------------------------------------------ sending

    def _send(self, parts: list[_Part], taken: dict[Lane, int], now: int) -> bool:
        """Send scores; return False if the request must be retried later.

        A receiver refuses the whole request if it refuses the samples of one lane. The request is
        then split into halves until the refused lane is found, whose scores are dropped.
        """
        answer = self.receiver.post(encode_remote_write(self._samples(parts)), HEADERS, now)
        if answer.status == "later":
            return False
        if answer.status == "refused" and len(parts) > 1:
            half = len(parts) // 2
            return self._send(parts[:half], taken, now) and self._send(parts[half:], taken, now)
        if answer.status == "refused":
            what = f"{len(parts[0].times)} scores of {'/'.join(parts[0].lane)}"
            self.receiver.drop(what, len(parts[0].times), answer.said, now)
        taken.update({part.lane: part.until for part in parts})
        return True

    # ------------------------------------------------------------------ the file

    def _read(self) -> dict[Lane, int]:
        """Return the time up to which each lane's scores were accepted.

        Lanes are missing if the file does not list them, cannot be read or is for another receiver.
        """
        try:
            content: Any = json.loads(self._path.read_text("utf-8"))
            if content["to"] == self.receiver.name:
                return {(watch, entity): int(time) for watch, entity, time in content["lanes"]}
        except (OSError, ValueError, TypeError, KeyError):
            pass
        return {}

    def _write(self, taken: dict[Lane, int]) -> None:
        content = {
            "to": self.receiver.name,
            "lanes": [[*lane, time] for lane, time in taken.items()],
        }
        beside = self._path.with_suffix(".tmp")
        with contextlib.suppress(OSError):  # on a full disk, the same samples may be sent twice
            beside.write_text(json.dumps(content), "utf-8")
            os.replace(beside, self._path)


def _part(lane: LaneStore, after: int, step: int) -> _Part:
    """Return the next scores of one lane after a time, few enough that the store thins none."""
    until = min(after + MAX_ROWS_PER_WRITE * step, lane.last_time or after)
    columns = lane.verdicts(after + 1, until, MAX_ROWS_PER_WRITE + 1)
    return _Part(
        lane=(lane.watch, lane.entity),
        until=until,
        times=np.asarray(columns["time"], np.int64),
        values={
            what: np.asarray(column, np.float64)
            for what, column in columns.items()
            if what in METRICS or what.startswith(EVIDENCE)
        },
    )
