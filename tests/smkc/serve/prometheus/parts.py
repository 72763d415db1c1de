"""What the tests of asking share: a server that answers as Prometheus does, and how it is asked."""

import json
import math
from collections.abc import Mapping
from typing import Any

from tests.misbehaving_server import Answer, Asked, MisbehavingServer

from smkc.serve.intake.samples import Samples
from smkc.serve.prometheus.client import Prometheus

START, STEP = 1_700_000_000_000, 15_000


class Honest:
    """Answers range queries from series of its own as Prometheus does."""

    def __init__(
        self, series: Mapping[str, Mapping[int, str]], most_samples: float = math.inf
    ) -> None:
        self.series = series  # name -> {time: text of the value}
        self.most_samples = most_samples

    def __call__(self, asked: Asked) -> Answer:
        start, end, step = (round(float(asked.fields[key]) * 1000) for key in RANGE)
        n_points = (end - start) // step + 1
        if n_points > 11_000:
            return failure(400, "bad_data", "exceeded maximum resolution of 11,000 points")
        result = []
        for name, samples in self.series.items():
            grid = range(start, end + 1, step)
            values = [[time / 1000, samples[time]] for time in grid if time in samples]
            if values:
                result.append({"metric": {"__name__": name}, "values": values})
        if sum(len(one["values"]) for one in result) > self.most_samples:
            return failure(422, "execution", "query processing would load too many samples")
        return matrix(result)


RANGE = ("start", "end", "step")


def matrix(result: list[dict[str, Any]]) -> Answer:
    content = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return Answer(body=json.dumps(content, separators=(",", ":")).encode())


def failure(status: int, kind: str, said: str) -> Answer:
    content = {"status": "error", "errorType": kind, "error": said}
    return Answer(status=status, body=json.dumps(content).encode())


def one_series(n_points: int, name: str = "up") -> dict[str, dict[int, str]]:
    return {name: {START + STEP * point: str(point) for point in range(n_points)}}


def as_mapping(samples: Samples) -> dict[tuple[str, int], float]:
    names = [samples.names[code] for code in samples.codes.tolist()]
    found = dict(
        zip(zip(names, samples.times.tolist(), strict=True), samples.values.tolist(), strict=True)
    )
    assert len(found) == len(samples), "a sample came twice"
    return found


def ask(server: MisbehavingServer, n_points: int = 10, **options: Any) -> Samples:
    with Prometheus(server.url, **options) as client:
        return client.range("up", START, START + (n_points - 1) * STEP, STEP)
