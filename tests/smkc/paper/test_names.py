import pickle
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest

from smkc.errors import InputError
from smkc.paper.names import RowNames
from smkc.paper.sketch import hash_names

BUCKETS = 2**31  # no two names in one


def told_apart(row):
    """Say by value bucket what a row is expected to hold."""
    buckets = hash_names(list(row), BUCKETS).value_bucket.tolist()
    return dict(zip(buckets, row.values(), strict=True))


def arranged(names, row):
    hashes, values = names.arrange(row)
    assert values.dtype == np.float32
    assert len(values) == len(hashes.value_bucket) == len(names.slots)
    held = zip(hashes.value_bucket.tolist(), values.tolist(), strict=True)
    return {bucket: value for bucket, value in held if np.isfinite(value)}


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}], id="the-same-names"),
        pytest.param([{"a": 1.0, "b": 2.0}, {"b": 4.0, "a": 3.0}], id="another-order"),
        pytest.param([{"a": 1.0, "b": 2.0}, {"b": 4.0}, {"a": 5.0}], id="some-are-absent"),
        pytest.param([{"b": 1.0}, {"a": 2.0, "b": 4.0}, {"a": 5.0}], id="a-newcomer"),
        pytest.param([{"a": 1.0}, {}, {"a": 2.0}, {}], id="nothing-observed"),
        pytest.param([{"a": 1.0}, {"b": 2.0}, {"a": 3.0}, {"b": 4.0}], id="turns"),
        pytest.param([{"a": 1}, {"a": True}, {"a": np.float32(2.5)}], id="numbers"),
        pytest.param([{"a": Decimal("1.5")}, {"a": Fraction(5, 2), "b": 1.0}], id="exact-numbers"),
        pytest.param([{"a": 1.0}, {"a": 2.0**70}, {"a": -(2.0**90)}], id="large-numbers"),
        pytest.param([{f"v{j}": float(j) for j in range(300)}, {"v7": 1.0}], id="many-then-few"),
        pytest.param([{"v7": 1.0}, {f"v{j}": float(j) for j in range(300)}], id="few-then-many"),
        pytest.param([{f"v{i}{j}": 1.0 for j in range(90)} for i in range(9)], id="all-replaced"),
    ],
)
def test_every_row_is_arranged_as_it_is(rows):
    names = RowNames(BUCKETS, None)
    for row in rows:
        assert arranged(names, row) == told_apart(row)
        assert arranged(names, MappingProxyType(row)) == told_apart(row)


@pytest.mark.parametrize("value", [None, np.nan, np.inf, -np.inf, 1e300, Decimal("1e400")])
def test_values_that_count_as_not_observed(value):
    names = RowNames(BUCKETS, None)
    for _ in range(3):
        assert arranged(names, {"a": value, "b": 2.0}) == told_apart({"b": 2.0})
        assert arranged(names, {"a": 1.0, "b": 2.0}) == told_apart({"a": 1.0, "b": 2.0})


@pytest.mark.parametrize(
    "value",
    [
        "3",
        "high",
        b"3",
        np.str_("3"),
        [1.0],
        {},
        1j,
        10**400,
        2**70,
        Decimal("sNaN"),
        Fraction(10**400),
    ],
    ids=lambda value: f"{type(value).__name__} of {len(repr(value))}",
)
def test_what_is_refused_in_the_first_row_is_refused_in_later_ones(value):
    names = RowNames(BUCKETS, None)
    for _ in range(3):
        with pytest.raises(InputError, match=r"'b' is .*give a number"):
            names.arrange({"a": 1.0, "b": value})
        assert arranged(names, {"a": 1.0, "b": 2.0}) == told_apart({"a": 1.0, "b": 2.0})


def test_a_variable_may_be_spelled_in_two_ways_but_not_in_one_row():
    one, other = 'load{a="1",b="2"}', 'load{b="2",a="1"}'
    names = RowNames(BUCKETS, None)
    for spelled in (one, other, one):
        assert arranged(names, {spelled: 1.0, "c": 2.0}) == told_apart({one: 1.0, "c": 2.0})
    with pytest.raises(InputError, match="names one variable twice"):
        names.arrange({one: 1.0, other: 2.0})
    assert arranged(names, {other: 1.0}) == told_apart({one: 1.0})


def test_the_order_of_sums_is_that_of_first_sight():
    names = RowNames(BUCKETS, None)
    names.arrange({"b": 1.0, "d": 2.0})
    hashes, values = names.arrange({"d": 3.0, "c": 4.0, "a": 5.0, "b": 6.0})
    np.testing.assert_array_equal(values, [6.0, 3.0, 5.0, 4.0])
    expected = hash_names(["b", "d", "a", "c"], BUCKETS)
    np.testing.assert_array_equal(hashes.value_bucket, expected.value_bucket)


@pytest.mark.parametrize("again", [deepcopy, lambda names: pickle.loads(pickle.dumps(names))])
def test_a_copy_goes_on_by_itself(again):
    names = RowNames(BUCKETS, None)
    names.arrange({"b": 1.0})
    copy = again(names)
    assert arranged(copy, {"a": 2.0}) == told_apart({"a": 2.0})
    assert len(names.arrange({"b": 3.0})[1]) == 1


def test_names_that_rows_no_longer_have_are_not_asked_for():
    names = RowNames(BUCKETS, None)
    names.arrange({f"v{j}": 1.0 for j in range(1000)})
    names.arrange({"v7": 1.0, "v8": 2.0})
    assert len(names.slots) == 2
