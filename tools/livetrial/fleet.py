"""The fleet: one process that simulates all pods and serves the metrics of each.

In: a port, a seed, and over HTTP the pods and their faults. Out: the metrics of a pod at
``/pods/<name>/metrics``, as a service with a Prometheus client library shows them.
"""

import json
import math
import random
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tools.stack.exposition import Handler, Server

__all__ = ["Fleet", "Load", "PodState", "serve_fleet"]

TICK_SECONDS = 0.5

# Requests per second of the whole service, seconds per request, bytes per pod, errors per request.
USUAL = {
    "billing": (40.0, 0.040, 90e6, 0.004),
    "catalog": (120.0, 0.012, 140e6, 0.002),
    "orders": (60.0, 0.030, 110e6, 0.003),
    "web": (200.0, 0.020, 180e6, 0.002),
}

SLOW_FACTOR, MEMORY_FACTOR, ERROR_SHARE = 10.0, 20.0, 0.3
QUEUE_GROWTH_PER_SECOND, QUEUE_DRAIN_PER_SECOND = 3.0, 25.0

# A pod is slower right after its start and reaches its usual memory within a minute.
COLD_SECONDS, WARM_MEMORY_SECONDS = 10.0, 60.0


class Load:
    """The demand on all services: a slow wave with noise, the same for every service."""

    WAVE_SECONDS = 600.0

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._phase = rng.uniform(0, 2 * math.pi)
        self._noise = 0.0

    def at(self, seconds: float) -> float:
        """Return the demand as a multiple of the usual one; call it once per tick."""
        self._noise = 0.95 * self._noise + self._rng.gauss(0.0, 0.02)
        wave = 0.25 * math.sin(2 * math.pi * seconds / self.WAVE_SECONDS + self._phase)
        return max(0.1, 1.0 + wave + self._noise)


@dataclass
class PodState:
    """Counters and gauges of one pod."""

    name: str
    service: str
    started: float
    memory_factor: float
    speed_factor: float
    requests: int = 0
    errors: int = 0
    duration_sum: float = 0.0
    cpu_seconds: float = 0.0
    median: float = math.nan
    slowest: float = math.nan
    in_flight: int = 0
    queue: float = 0.0
    backlog: float = 0.0
    memory: float = 0.0
    garbage: float = 0.0
    open_files: int = 20

    def metrics(self) -> str:
        """Return the metrics in the text format of Prometheus."""
        duration = "http_request_duration_seconds"
        return (
            "# TYPE http_requests_total counter\n"
            f'http_requests_total{{code="200"}} {self.requests - self.errors}\n'
            f'http_requests_total{{code="500"}} {self.errors}\n'
            f"# TYPE {duration} summary\n"
            f'{duration}{{quantile="0.5"}} {_text(self.median)}\n'
            f'{duration}{{quantile="0.99"}} {_text(self.slowest)}\n'
            f"{duration}_sum {self.duration_sum!r}\n"
            f"{duration}_count {self.requests}\n"
            "# TYPE http_requests_in_flight gauge\n"
            f"http_requests_in_flight {self.in_flight}\n"
            "# TYPE queue_length gauge\n"
            f"queue_length {int(self.queue)}\n"
            "# TYPE process_resident_memory_bytes gauge\n"
            f"process_resident_memory_bytes {int(self.memory)}\n"
            "# TYPE process_cpu_seconds_total counter\n"
            f"process_cpu_seconds_total {self.cpu_seconds:.3f}\n"
            "# TYPE process_open_fds gauge\n"
            f"process_open_fds {self.open_files}\n"
            "# TYPE process_start_time_seconds gauge\n"
            f"process_start_time_seconds {self.started:.2f}\n"
        )


class Fleet:
    """All pods, simulated tick by tick.

    Parameters
    ----------
    seed
        seed of the load and of the noise.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._load = Load(self._rng)
        self._lock = threading.Lock()
        self._pods: dict[str, PodState] = {}
        self._troubles: list[dict[str, Any]] = []

    def control(self, pods: Collection[Mapping[str, str]], troubles: list[dict[str, Any]]) -> None:
        """Set the pods and their faults; pods that are not named end."""
        with self._lock:
            kept = {}
            for one in pods:
                known = self._pods.get(one["pod"])
                kept[one["pod"]] = known or PodState(
                    name=one["pod"],
                    service=one["service"],
                    started=time.time(),
                    memory_factor=self._rng.uniform(0.9, 1.1),
                    speed_factor=self._rng.uniform(0.95, 1.05),
                )
            self._pods, self._troubles = kept, troubles

    def metrics(self, pod: str) -> str | None:
        """Return the metrics of a pod; None if there is no such pod."""
        with self._lock:
            found = self._pods.get(pod)
            return None if found is None else found.metrics()

    def tick(self, now: float, elapsed: float) -> None:
        """Advance all pods by ``elapsed`` seconds."""
        with self._lock:
            load = self._load.at(now)
            if self._troubled("traffic_gone"):
                load = 0.0
            for service in USUAL:
                pods = [pod for pod in self._pods.values() if pod.service == service]
                for pod in pods:
                    self._move(pod, load, len(pods), now - pod.started, elapsed)

    def _move(self, pod: PodState, load: float, n_pods: int, age: float, elapsed: float) -> None:
        rng = self._rng
        rate, seconds, memory, error_share = USUAL[pod.service]
        expected = rate * load / n_pods * elapsed
        n = max(0, round(rng.gauss(expected, math.sqrt(expected)))) if expected else 0
        latency = seconds * pod.speed_factor * (0.7 + 0.3 * load**2) * rng.lognormvariate(0, 0.08)
        if age < COLD_SECONDS:
            latency *= 1.3
        if self._troubled("instance_slow", pod) or self._troubled("service_slow", pod):
            latency *= SLOW_FACTOR
        if self._troubled("error_burst", pod):
            error_share = ERROR_SHARE
        n_errors = sum(rng.random() < error_share for _ in range(n))
        pod.requests += n
        pod.errors += n_errors
        pod.duration_sum += n * latency
        pod.median = 0.8 * latency if n else math.nan
        pod.slowest = 3.0 * latency * rng.lognormvariate(0, 0.15) if n else math.nan
        pod.in_flight = _poisson(rng, n / elapsed * latency)
        pod.cpu_seconds += (0.01 + rng.gauss(0.01, 0.002)) * elapsed + n * 0.2 * seconds
        if self._troubled("queue_grows", pod):
            pod.backlog += QUEUE_GROWTH_PER_SECOND * elapsed
        else:
            pod.backlog = max(0.0, pod.backlog - QUEUE_DRAIN_PER_SECOND * elapsed)
        pod.queue = pod.backlog + _poisson(rng, 4.0 * load**2)
        pod.garbage = (pod.garbage + n * 4e3) if pod.garbage < 0.12 * memory else 0.0
        warm = min(1.0, 0.6 + 0.4 * age / WARM_MEMORY_SECONDS)
        pod.memory = memory * pod.memory_factor * warm + pod.garbage
        if self._troubled("instance_memory", pod):
            pod.memory *= MEMORY_FACTOR
        pod.open_files = 20 + pod.in_flight + _poisson(rng, 2.0)

    def _troubled(self, kind: str, pod: PodState | None = None) -> bool:
        return any(
            one["kind"] == kind
            and (pod is None or one.get("pod", pod.name) == pod.name)
            and (pod is None or one.get("service", pod.service) == pod.service)
            for one in self._troubles
        )


def serve_fleet(port: int, seed: int) -> None:
    """Simulate and serve until the process is ended."""
    fleet = Fleet(seed)

    class Requests(Handler):
        def do_GET(self) -> None:
            parts = self.path.split("/")
            found = fleet.metrics(parts[2]) if len(parts) == 4 else None
            self.answer(404 if found is None else 200, (found or "").encode("ascii"))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fleet.control(body["pods"], body["troubles"])
            self.answer(200)

    server = Server(("127.0.0.1", port), Requests)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    before = time.time()
    while True:
        time.sleep(TICK_SECONDS)
        now = time.time()
        fleet.tick(now, max(now - before, 1e-3))
        before = now


def _poisson(rng: random.Random, mean: float) -> int:
    """Return a Poisson number, by Knuth's algorithm or, for means above 30, approximately."""
    if mean > 30:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    limit, product, n = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        n += 1
    return n


def _text(value: float) -> str:
    return "NaN" if math.isnan(value) else repr(value)
