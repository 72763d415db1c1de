import numpy as np
import pytest
from tests.benchmarks.real.made_up import made_up_series

from benchmarks.real.budget import BUDGETS, find_budget
from smkc.errors import SettingError


def test_a_short_recording_still_has_its_fault():
    series = made_up_series(n_rows=400)
    short = BUDGETS["smoke"].shortened(series)
    assert (len(short.reference), len(short.test)) == (240, 160)
    np.testing.assert_array_equal(short.reference.times, series.reference.times[-240:])
    assert short.labels.any()
    assert not short.labels.all()
    (event,) = short.events
    assert short.labels[event.start : event.stop].all()
    assert event.variables == ("v03",)


def test_full_budgets_cut_nothing():
    series = made_up_series(n_rows=100)
    short = BUDGETS["full"].shortened(series)
    assert short.test == series.test
    assert short.reference == series.reference
    assert short.events == series.events


def test_budgets_have_names():
    assert find_budget("full").seeds == 3
    with pytest.raises(SettingError, match="smoke, full, thorough"):
        find_budget("huge")
