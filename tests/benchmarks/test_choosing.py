"""Names as typed, and what they name."""

import pytest

from benchmarks.choosing import choose, find
from smkc.errors import SettingError

KNOWN = {"a": 1, "b": 2, "c": 3}


def test_all_are_chosen_unless_some_are_named():
    assert choose(None, KNOWN, "thing") == ["a", "b", "c"]
    assert choose("c, a,c", KNOWN, "thing") == ["a", "c"]


@pytest.mark.parametrize(
    ("names", "told"), [("d", "d"), ("a,d,e", "d, e"), ("", "''"), (" , ", "' , '")]
)
def test_what_is_not_known_is_said_with_what_is(names, told):
    with pytest.raises(SettingError, match=f"thing {told} is not known; there are a, b, c"):
        choose(names, KNOWN, "thing")


def test_one_is_found_by_its_name():
    assert find("b", KNOWN, "thing") == 2
    for name in ("d", "a,b", ""):
        with pytest.raises(SettingError, match=f"thing '{name}' is not known; there are a, b, c"):
            find(name, KNOWN, "thing")
