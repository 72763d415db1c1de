import numpy as np
import pytest

from benchmarks.real.draws import Draws
from smkc.errors import SettingError


def test_draws_are_even_and_the_same_on_every_machine():
    draws = Draws("a", "b", seed=3)
    assert draws.bits(1)[0] == np.uint64(17650499476415521250)
    uniform = draws.uniform(20_000)
    assert 0 < uniform.min() < 0.001
    assert 0.999 < uniform.max() < 1
    assert uniform.mean() == pytest.approx(0.5, abs=0.01)
    assert sorted(draws.order(50)) == list(range(50))
    assert draws.signs(1000).mean() == pytest.approx(0, abs=0.1)
    normal = draws.normal(5000)
    assert normal.mean() == pytest.approx(0, abs=0.05)
    assert normal.std() == pytest.approx(1, abs=0.05)


def test_purpose_and_seed_tell_streams_apart():
    streams = [("a", "b", 0), ("a", "b", 1), ("b", "a", 0), ("ab", "", 0)]
    first = {int(Draws(one, two, seed=seed).bits(1)[0]) for one, two, seed in streams}
    assert len(first) == 4
    again = Draws("a", "b", seed=0).bits(3)
    np.testing.assert_array_equal(again, Draws("a", "b", seed=np.int64(0)).bits(3))


def test_a_number_between_two_is():
    drawn = Draws("a", seed=0).between((-2.0, 3.0), 1000)
    assert -2 < drawn.min() < -1.9
    assert 2.9 < drawn.max() < 3


@pytest.mark.parametrize("seed", [-1, 1.5, True, None, "3"])
def test_a_seed_that_is_no_whole_number_is_an_error(seed):
    with pytest.raises(SettingError, match="must be a whole number, 0 or more"):
        Draws("a", seed=seed)
