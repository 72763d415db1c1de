import numpy as np
import pytest
from tests.smkc.doctor.conftest import table

from smkc.doctor.look import far_rows, look_at


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_ordinary_rows_are_not_far(rng: np.random.Generator, draw: str) -> None:
    assert far_rows(getattr(rng, draw)(size=(2000, 6))) < 0.05


@pytest.mark.parametrize("share", [0.15, 0.25, 0.3])
@pytest.mark.parametrize("n_variables", [6, 40])
def test_share_of_outlying_rows_is_measured(
    rng: np.random.Generator, share: float, n_variables: int
) -> None:
    values = rng.normal(size=(2000, n_variables))
    values[: int(share * 2000), : max(2, n_variables // 10)] += 12
    assert far_rows(values) == pytest.approx(share, abs=0.04)


def test_gaps_and_constants_are_ignored(rng: np.random.Generator) -> None:
    values = rng.normal(size=(300, 3))
    values[:, 0] = 5.0
    values[rng.random((300, 3)) < 0.3] = np.nan
    values[:100] = np.nan
    found = look_at(table(values))
    assert found.constant == ("v0",)
    assert found.empty == pytest.approx(1 / 3, abs=0.05)
    assert found.far < 0.05
    assert far_rows(np.full((50, 2), np.nan)) == 0.0
    assert far_rows(np.ones((50, 2))) == 0.0


def test_outlying_rows_that_are_nearly_half_are_not_found(rng: np.random.Generator) -> None:
    values = rng.normal(size=(2000, 6))
    values[:900, 1:3] += 12
    assert far_rows(values) < 0.1  # the limit that the docstring tells
