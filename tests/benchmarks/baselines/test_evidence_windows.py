"""The row of evidences: what it reads, and what it says of windows that hold nothing."""

import numpy as np

from benchmarks.baselines.evidence_windows import EvidenceWindows
from benchmarks.metrics import auroc
from benchmarks.single_window import WindowEvidence
from benchmarks.windows import Windows
from benchmarks.world import World, generate


def some(seed, n_windows=40, rate=0.0, pool="train"):
    return Windows.concat(
        [
            generate(
                World(), pool=pool, n_windows=n_windows, cardinality=c, rate=rate, seed=(seed, c)
            )
            for c in (2, 5)
        ]
    )


def test_scores_are_the_evidences_joined():
    normal, test = some(1), some(2, rate=0.5)
    scores = EvidenceWindows().fit(normal).score(test)
    values = [np.where(part.observed, part.values, np.nan) for part in (normal, test)]
    expected = WindowEvidence().fit(values[0]).score(values[1])
    np.testing.assert_array_equal(scores, expected)
    assert auroc(test.is_anomalous, scores) > 0.8


def test_names_and_labels_play_no_part():
    normal, test = some(1), some(2)
    renamed = Windows(
        test.values,
        test.observed,
        np.where(test.variables < 0, -1, 255 - test.variables).astype(np.int32),
        test.names,
        test.kinds,
        test.segments,
    )
    fitted = EvidenceWindows().fit(normal, some(3, rate=0.5))
    np.testing.assert_array_equal(fitted.score(renamed), fitted.score(test))
    np.testing.assert_array_equal(EvidenceWindows().fit(normal).score(test), fitted.score(test))


def test_empty_windows_come_last():
    test = some(2)
    silent = Windows(
        np.zeros_like(test.values),
        np.zeros_like(test.observed),
        test.variables,
        test.names,
        test.kinds,
        test.segments,
    )
    fitted = EvidenceWindows(doubt=(1e-3, 0.5)).fit(some(1))
    assert (fitted.score(silent) == 0).all()
    assert (fitted.score(test) > 0).all()
