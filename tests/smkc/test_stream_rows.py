from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from smkc.errors import InputError
from smkc.loading import make_detector
from smkc.stream import row_values


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, np.nan, id="none"),
        pytest.param(True, 1.0, id="truth"),
        pytest.param(2**62, 2.0**62, id="large-whole-number"),
        pytest.param(np.float32(0.5), 0.5, id="float32"),
        pytest.param(np.int16(-7), -7.0, id="int16"),
        pytest.param(Decimal("0.25"), 0.25, id="decimal"),
        pytest.param(Fraction(-3, 4), -0.75, id="fraction"),
        pytest.param(np.array(2.0), 2.0, id="array-without-axes"),
        pytest.param(1e300, 1e300, id="huge"),
        pytest.param(-np.inf, -np.inf, id="infinite"),
    ],
)
def test_what_counts_as_a_number(value, expected):
    np.testing.assert_array_equal(row_values({"a": value, "b": 1.0}), [expected, 1.0])


def test_a_row_without_values():
    assert row_values({}).shape == (0,)


@pytest.mark.parametrize("value", ["3", [1.0], 1j, 2**63, -(2**63)])
def test_what_does_not(value):
    with pytest.raises(InputError, match=r"'b' is .*give a number"):
        row_values({"a": None, "b": value})


def test_rows_are_mappings():
    with pytest.raises(InputError, match="mapping of variables to numbers, not list"):
        row_values([1.0])


@pytest.mark.parametrize("detector", ["knn", "evidence"])
def test_a_decimal_is_the_number_it_stands_for_in_every_row(rng, detector):
    reference = {"time": np.arange(200), "a": rng.normal(size=200), "b": rng.normal(size=200)}
    fitted = make_detector({"detector": detector, "window": 16}).fit(reference)
    floats, decimals = fitted.stream(), fitted.stream()
    for t in range(40):
        row = {"a": float(rng.normal()), "b": float(rng.normal())}
        if t == 20:
            row["new"] = 0.5
        exact = {name: Decimal(value) for name, value in row.items()}
        assert floats.push(t, row) == decimals.push(t, exact)
