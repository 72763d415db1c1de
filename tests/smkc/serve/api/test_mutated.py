"""Mutated bodies over HTTP: whatever is sent is taken or refused, never a failure inside."""

import gzip
import json

import httpx
import numpy as np
import pytest
from tests.smkc.serve.decoding.writing import encode_remote_write

from smkc.serve.intake.samples import Samples

PROTOBUF = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
JSON = {"Content-Type": "application/json"}
SNIPPETS = [b"null", b"NaN", b"1e999", b"-", b'"', b"[", b"{", b"\\ud800", b"\xff", b"0" * 400]
SNIPPETS += [b'"time":', b"true", b"\x00", b"9223372036854775808", b"},", b"\xef\xbb\xbf", b"\n"]
N_ROUNDS = 2_000


def seeds(now):
    """Bodies that are taken as they are, with where and how they are sent."""
    names = ('load{pod="a"}', "up", 'load{pod="b",zone="x"}')
    samples = Samples(
        names=names,
        codes=np.array([0, 1, 2, 0]),
        times=np.array([now, now, now, now - 15_000]),
        values=np.array([1.0, 0.0, float("nan"), 5e300]),
    )
    rows = [{"time": now, "name": name, "value": 1.5} for name in names]
    rows.append({"time": "2027-01-15T08:00:00Z", "metric": "m", "labels": {"a": "b"}, "value": 1})
    point = {"timeUnixNano": str(now * 1_000_000), "asDouble": 5.0}
    metric = {"name": "queue.length", "gauge": {"dataPoints": [point]}}
    otlp = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}
    columns = {"time": [now, now + 1], "series": {"a": [1, None], "b": [2.5, -1e9]}}
    return [
        ("/api/v1/write", PROTOBUF, encode_remote_write(samples)),
        ("/api/v1/observations", JSON, json.dumps({"observations": rows}).encode()),
        ("/api/v1/observations", JSON, json.dumps(columns).encode()),
        ("/api/v1/observations", JSON, json.dumps(rows).encode()),
        ("/v1/metrics", JSON, json.dumps(otlp).encode()),
        (
            "/v1/metrics",
            {**JSON, "Content-Encoding": "gzip"},
            gzip.compress(json.dumps(otlp).encode()),
        ),
    ]


def mutated(rng, body):
    """Change some bytes: flipped, put in, taken out, doubled, cut off."""
    body = bytearray(body)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(body) + 1))
        match int(rng.integers(0, 6)):
            case 0 if at < len(body):
                body[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                body[at:at] = rng.bytes(int(rng.integers(1, 9)))
            case 2:
                del body[at : at + int(rng.integers(1, 9))]
            case 3:
                body[at:at] = body[at : at + int(rng.integers(1, 40))]
            case 4:
                body[at:at] = SNIPPETS[int(rng.integers(0, len(SNIPPETS)))]
            case _ if rng.random() < 0.1:
                del body[at:]
    return bytes(body)


def send(service, url, rng, n_rounds):
    """Send mutated bodies; return how many of each status were answered."""
    counts = {}
    bodies = seeds(service.now())
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        for path, headers, body in bodies:
            assert client.post(path, headers=headers, content=body).status_code in (200, 204)
        for number in range(n_rounds):
            path, headers, body = bodies[number % len(bodies)]
            answer = client.post(path, headers=headers, content=mutated(rng, body))
            status = answer.status_code
            counts[status] = counts.get(status, 0) + 1
            assert status in (200, 204, 400, 413, 503), (number, answer.text)
            if status >= 400:
                assert list(answer.json()) == ["error"]
        assert client.get("/healthz").status_code == 200
    return counts


def test_mutated_bodies_do_no_harm(service, open_server, rng):
    counts = send(service, open_server.url, rng, N_ROUNDS)
    assert sum(counts.values()) == N_ROUNDS
    assert counts[400] > N_ROUNDS / 5  # they are mutated indeed
    assert counts.get(503, 0) == 0
    assert {watch.phase for watch in service.watches()} <= {"collecting", "following", "fitting"}


@pytest.mark.slow
def test_many_mutated_bodies_do_no_harm(service, open_server, rng):
    counts = send(service, open_server.url, rng, 10_000)
    assert sum(counts.values()) == 10_000
