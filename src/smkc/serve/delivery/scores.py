"""Scores: every lane's scores, written to a Prometheus by remote write.

In: the store's scores and the time. Out: requests, and a small file that says how far each lane's
scores were taken.

Scores need no outbox: they are kept anyway, and a time for each lane says what is still to be sent.
What is newer than that goes out in batches, also after an hour in which nobody listened. A process
that dies before it wrote the time down sends the same samples again, which Prometheus lets pass.
Scores from before a lane was first seen stay here: a Prometheus refuses samples that old.
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
from smkc.serve.delivery.posting import Answer, Receiver
from smkc.serve.delivery.standing import Standing
from smkc.serve.intake.samples import Samples
from smkc.serve.messages import address
from smkc.serve.store import LaneStore, Store

__all__ = ["FILE", "METRICS", "ScoreWriter"]

FILE = "scores-sent.json"

# What of a verdict is written -> the metric that holds it; the names are those of /metrics.
METRICS = {
    "anomaly": "anomaly_score",
    "p_value": "smkc_p_value",
    "cardinality": "smkc_cardinality",
}
EVIDENCE, EVIDENCE_METRIC = "evidence.", "smkc_evidence_nats"

# Rows of one lane, and samples altogether, that one request holds at most.
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
    """The scores of one lane up to a time: (n,) times, and (n,) values by the store's names."""

    lane: Lane
    until: int
    times: NDArray[np.int64]
    values: dict[str, NDArray[np.float64]]

    @property
    def n_samples(self) -> int:
        return len(self.times) * len(self.values)


class ScoreWriter:
    """Writes scores to one receiver.

    Parameters
    ----------
    store
        with the scores.
    config
        tells which watches there are, and their steps.
    to
        the receiver.
    rng
        for the waits after failures.

    Attributes
    ----------
    steps
        milliseconds per row, by watch.
    """

    def __init__(
        self, store: Store, config: Config, to: RemoteWriteConfig, rng: random.Random
    ) -> None:
        self._store = store
        self.steps = {watch.name: watch.step for watch in config.watches}
        self._labels = to.labels
        self.standing = Standing("remote_write", address(to.url), rng)
        self._receiver = Receiver(to, answers_pages=False)
        self._path = store.path.parent / FILE
        self._taken: dict[Lane, int] | None = None
        self._looked_at: int | None = None

    def step(self, now: int) -> None:
        """Send what is new."""
        if self.standing.must_wait(now):
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
        """Return how many rows of scores have yet to be taken, by their times; any thread may ask.

        Rows that were never observed count as well, until it is found that they are not there.
        """
        taken = dict(self._taken or {})  # a copy at once: the thread that sends may add lanes
        behind = 0
        for lane in self._store.lanes():
            until = taken.get((lane.watch, lane.entity))
            if until is not None and lane.last_time is not None and lane.watch in self.steps:
                behind += max(lane.last_time - until, 0) // self.steps[lane.watch]
        return behind

    def close(self) -> None:
        """Give up the connections."""
        self._receiver.close()

    # ------------------------------------------------------------------ what is new

    def _new(self, taken: dict[Lane, int], now: int) -> list[_Part]:
        """Return a request's worth of scores, oldest first in each lane."""
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
        return samples.take(np.ones(len(samples), np.bool_))  # without names that say nothing

    def _name(self, lane: Lane, what: str) -> str:
        metric = METRICS.get(what, EVIDENCE_METRIC)
        labels = {"watch": lane[0], "entity": lane[1], **self._labels}
        if metric == EVIDENCE_METRIC:
            labels["evidence"] = what.removeprefix(EVIDENCE)
        # A lane may be called what no UTF-8 can say.
        said = {name: text.encode("utf-8", "replace").decode() for name, text in labels.items()}
        return identifier(metric, {name: text for name, text in said.items() if text})

    # ------------------------------------------------------------------ sending

    def _send(self, parts: list[_Part], taken: dict[Lane, int], now: int) -> bool:
        """Send scores; return whether the receiver may be sent more.

        One lane's samples that the receiver refuses make it refuse the whole request: then halves
        are sent, down to the lane that it does not like.
        """
        answer: Answer = self._receiver.post(encode_remote_write(self._samples(parts)), HEADERS)
        self.standing.note(answer, now)
        if answer.status == "later":
            return False
        if answer.status == "refused" and len(parts) > 1:
            half = len(parts) // 2
            return self._send(parts[:half], taken, now) and self._send(parts[half:], taken, now)
        if answer.status == "refused":
            what = f"{len(parts[0].times)} scores of {'/'.join(parts[0].lane)}"
            self.standing.drop(what, len(parts[0].times), answer.said, now)
        taken.update({part.lane: part.until for part in parts})
        return True

    # ------------------------------------------------------------------ how far it got

    def _read(self) -> dict[Lane, int]:
        """Return how far each lane's scores were taken; from now on where that is not known."""
        try:
            content: Any = json.loads(self._path.read_text("utf-8"))
            if content["to"] == self.standing.name:
                return {(watch, entity): int(time) for watch, entity, time in content["lanes"]}
        except (OSError, ValueError, TypeError, KeyError):
            pass
        return {}

    def _write(self, taken: dict[Lane, int]) -> None:
        content = {
            "to": self.standing.name,
            "lanes": [[*lane, time] for lane, time in taken.items()],
        }
        beside = self._path.with_suffix(".tmp")
        with contextlib.suppress(OSError):  # a full disk: the same samples may go out twice
            beside.write_text(json.dumps(content), "utf-8")
            os.replace(beside, self._path)


def _part(lane: LaneStore, after: int, step: int) -> _Part:
    """Return the scores of one lane after a time, so few that the store thins none of them."""
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
