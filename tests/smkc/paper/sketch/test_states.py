"""States against the oracle, with every option and with rows of every kind."""

import numpy as np
import pytest
from tests import naive

from smkc.errors import SettingError
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

# States are kept in float32: half a unit in the last place, and the division's own rounding.
RELATIVE = 2e-7
SUMMING = 1e-6
DENORMAL = 1e-41  # sums are made with room above, so that the smallest float32 numbers become 0

RNG = np.random.default_rng(21)
ROWS = {
    "ordinary": [{f"v{j}": RNG.normal() for j in range(6)} for _ in range(5)],
    "empty rows": [{}, {"a": 1.0}, {}, {"b": -2.0, "a": 0.5}, {}],
    "single variable": [{"only": float(t)} for t in range(5)],
    "zeros": [{"a": 0.0, "b": 0.0}],
    "ragged": [{f"v{j}": RNG.normal() for j in range(n)} for n in (1, 4, 5, 6, 60, 2000)],
    "huge": [{"a": 3e38, "b": -3e38}, {"a": 1e16}, {"a": -1e30}],
    "denormal": [{"a": 1e-40}, {"a": -1e-45, "b": 1e-38}],
    "unicode": [{"temp\u00e9rature": 1.0, "\U0001f321": 2.0, "": 3.0, 'up{job="a"}': 4.0}],
}


@pytest.mark.parametrize("m", [1, 2, 128])
@pytest.mark.parametrize("options", [{}, {"presence": False}, {"saturate": False}])
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_states_equal_the_oracle(rows, options, normalise, m):
    recording = Recording.from_rows(range(len(rows)), rows)
    expected = np.array(
        [
            naive.state(recording.row(t), m=m, normalise=normalise, **options)
            for t in range(len(rows))
        ]
    )
    actual = Sketch(buckets=m, normalise=normalise, **options).states(recording)
    assert actual.dtype == np.float32
    assert actual.shape == (len(rows), 2 * m)
    # Colliding variables may cancel: sums in float32 are off by a little of what was added up.
    sizes = [[1 + abs(value) for value in recording.row(t).values()] for t in range(len(rows))]
    added = np.array([sum(size) if len(size) > 1 else 0.0 for size in sizes])
    slack = SUMMING * added[:, None] + DENORMAL
    assert (np.abs(actual - expected) <= RELATIVE * np.abs(expected) + slack).all()


def test_a_recording_without_rows_has_no_states():
    recording = Recording.from_rows([0], [{"a": 1.0}]).rows(0, 0)
    assert Sketch(buckets=4).states(recording).shape == (0, 8)


@pytest.mark.parametrize("buckets", [0, -1, 1.5, "128"])
def test_a_width_that_makes_no_sense_is_refused_by_name(buckets):
    with pytest.raises(SettingError, match="buckets="):
        Sketch(buckets=buckets)
