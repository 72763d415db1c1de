import json
import sys
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.stream._dictionary import read_row

LIMIT = 2.0**63
NAMES = [f"v{j}" for j in range(8)]

numbers = st.one_of(
    st.none(), st.floats(), st.integers(-(2**62), 2**62), st.booleans(), st.floats(width=32)
)
rows = st.dictionaries(st.sampled_from(NAMES), numbers)


def read(row, names=NAMES):
    """The row's values of the names, None if it was not read."""
    places = {name: place for place, name in enumerate(names)}
    out = np.empty(len(names), np.float32)
    identities = np.array([id(name) for name in names], np.int64)
    is_read = read_row(id(row), id(places), identities, id(None), LIMIT, out)
    return out if is_read else None


@given(rows)
def test_values_come_in_the_order_of_the_names(row):
    given = [np.nan if row.get(name) is None else float(row[name]) for name in NAMES]
    is_plain = all(not LIMIT <= abs(value) < np.inf for value in given)
    actual = read(row)
    if not is_plain:
        assert actual is None
        return
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(actual, np.array(given, np.float32))


@given(rows)
def test_equal_names_are_the_same_name_whichever_object_they_are(row):
    made_anew = json.loads(json.dumps(row))
    one, other = read(row), read(made_anew)
    assert (one is None) == (other is None)
    if one is not None:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "row",
    [
        {"v1": 1.0, "other": 2.0},
        {3: 1.0},
        {"v1": "3"},
        {"v1": [1.0]},
        {"v1": 10**400},
        {"v1": 2**63},
        {("v1",): 1.0},
    ],
    ids=["name", "no-text", "text", "list", "too-large", "large-whole", "tuple"],
)
def test_what_is_not_read_leaves_no_error_behind(row):
    assert read(row) is None
    assert sys.exc_info() == (None, None, None)
    np.testing.assert_array_equal(read({"v2": 5}, NAMES[:3]), [np.nan, np.nan, 5])


def test_minus_one_is_a_number_like_others():
    np.testing.assert_array_equal(read({"v0": -1.0, "v1": -1}, NAMES[:2]), [-1, -1])


def test_references_to_names_and_values_are_given_back():
    value, name = float("1234.5"), "".join(["v", "0"])
    row = {name: value, "v1": [0]}
    before = sys.getrefcount(value), sys.getrefcount(name)
    for _ in range(50):
        read(row)
        read({name: value})
    assert (sys.getrefcount(value), sys.getrefcount(name)) == before


def test_a_value_may_change_the_row_while_it_is_read():
    row = OrderedDict()

    class Turncoat:
        def __float__(self):
            row.clear()
            row.update({f"w{j}": 1.0 for j in range(1000)})
            return 1.0

    row.update(v0=Turncoat(), v1=2.0)
    assert read(row) is None  # there are other names by then
    assert len(row) == 1000
