"""Causes in words: the question or evidence that found each, and its kind."""

import re

import numpy as np
import pytest

import smkc
from smkc.evidence.causes.wording import KIND_OF_EVIDENCE, detail_of


@pytest.mark.parametrize(
    ("change", "kind", "reasons"),
    [
        (lambda column: column + 12.0, "level", {"level", "long level"}),
        (lambda column: np.full_like(column, 0.3), "frozen", {"frozen"}),
    ],
)
def test_a_cause_names_what_found_it(rng, change, kind, reasons):
    values = rng.normal(size=(1700, 3))
    values[1600:1660, 1] = change(values[1600:1660, 1])
    named = {f"v{j}": values[:, j] for j in range(3)}
    reference, live = (
        {"time": np.arange(a, b), **{name: column[a:b] for name, column in named.items()}}
        for a, b in ((0, 1500), (1500, 1700))
    )
    (alert,) = smkc.Detector().fit(reference).alerts(live)
    cause = alert.causes[0]
    assert (cause.variable, cause.kind) == ("v1", kind)
    assert cause.reason in reasons
    assert all(KIND_OF_EVIDENCE[one.reason] == one.kind for one in alert.causes)


def pods(rng, names, rows, level=1.0):
    """Return counts of requests and latencies of pods; ``level`` is that of the first pod."""
    found = {"time": np.datetime64("2026-11-02", "s") + 60 * np.asarray(rows)}
    for at, pod in enumerate(names):
        labels = f'{{pod="{pod}",service="web"}}'
        own = 5.0 * (level if at == 0 else 1.0) + 0.2 * rng.normal(size=len(rows))
        found[f"latency{labels}"] = own
        found[f"requests_total{labels}"] = np.cumsum(600 + 10 * rng.normal(size=len(rows)))
    return found


def test_a_newcomer_is_compared_with_its_peers(rng):
    detector = smkc.Detector().fit(pods(rng, ["a", "b", "c", "d"], np.arange(600)))
    live = pods(rng, ["x", "b", "c", "d"], np.arange(600, 640), level=3.0)
    cause = detector.alerts(live)[0].causes[0]
    assert cause.variable == 'latency{pod="x",service="web"}'
    assert re.match(
        r"was 1\d\.\d+ at .*; usual for its peers is (4\.9|5|5\.0)\d*, give", cause.detail
    )
    known, rows = detector.fitted_.known, smkc.read(live)
    counted = detail_of('requests_total{pod="x",service="web"}', rows, known)
    assert re.match(r"grew by (9|10)\..* per second at .*; usual for its peers is (9|10)", counted)


@pytest.mark.parametrize(
    ("n", "words"),
    [(1, r"is new since the reference; was 7 at .*"), (2, r".* was between 7 and 8 from .* to .*")],
)
def test_a_newcomer_without_peers_is_described_by_its_values(rng, n, words):
    detector = smkc.Detector().fit(pods(rng, ["a", "b"], np.arange(600)))
    times = np.datetime64("2026-11-03", "s") + 60 * np.arange(n)
    rows = smkc.read({"time": times, "disk": np.arange(7.0, 7 + n)})
    assert re.fullmatch(words, detail_of("disk", rows, detector.fitted_.known))
