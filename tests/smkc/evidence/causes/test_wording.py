"""Causes in words: the question or evidence that found each, and its kind."""

import numpy as np
import pytest

import smkc
from smkc.evidence.causes.wording import KIND_OF_EVIDENCE


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
