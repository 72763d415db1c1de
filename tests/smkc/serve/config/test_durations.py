import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.errors import SettingError
from smkc.serve.config import duration, show_duration


@given(st.integers(0, 10**12))
def test_what_is_shown_is_read_back(milliseconds):
    assert duration(show_duration(milliseconds)) == milliseconds


@pytest.mark.parametrize(
    "text", ["", "s", "-1s", "1e3s", "1 fortnight", 1, 1.5, True, None, [], "1us"]
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(SettingError, match=r"not a duration|not a whole number"):
        duration(text)


def test_too_long():
    with pytest.raises(SettingError, match="century"):
        duration("40000d")
    with pytest.raises(SettingError, match="century"):
        duration("9" * 400 + "d")
