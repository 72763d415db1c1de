"""Jump and alone: one variable's size, however many others there are."""

import numpy as np
import pytest

import smkc
from smkc.evidence.reference.alone import Alone, _means
from smkc.evidence.reference.largest import usual_sizes
from smkc.recording import Recording

N_ROWS, N_VARIABLES = 600, 200


def recording(table, first=0):
    names = [f"v{j}" for j in range(table.shape[1])]
    rows = [dict(zip(names, row.tolist(), strict=True)) for row in table]
    return Recording.from_rows(range(first, first + len(table)), rows)


def test_means_are_over_what_was_seen():
    rows = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 6.0]], np.float32)
    assert _means(rows, 2) == pytest.approx(np.array([[2.0, 4.0], [3.0, 5.0]]))


def test_usual_sizes_by_hand():
    scale, usual = usual_sizes(np.array([[0.0, np.nan], [1.0, np.nan], [2.0, np.nan]]))
    assert scale == pytest.approx([3.0, 0.05])  # three mean sizes; nothing was seen
    assert usual == pytest.approx([1.5, 0.05])


def test_alone_learns_the_middle(rng):
    rows = rng.normal(3.0, 1.0, (400, 2)).astype(np.float32)
    alone = Alone.fit(rows, 4)
    assert alone.middle == pytest.approx([3.0, 3.0], abs=0.1)
    assert (alone.scale > alone.usual).all()


def test_one_variable_among_hundreds_is_heard_and_blamed():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(N_ROWS + 120, N_VARIABLES))
    table[N_ROWS + 80 : N_ROWS + 100, 7] += 8.0
    detector = smkc.Detector().fit(recording(table[:N_ROWS]))
    live = recording(table[N_ROWS:], N_ROWS)
    alone = detector.evidences(live)["alone"]
    assert alone[82:100].min() > alone[:80].max()
    causes = detector.explain(live, N_ROWS + 90)
    assert causes[0].variable == "v7"
    assert causes[0].kind == "level"
