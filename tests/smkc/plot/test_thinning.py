import numpy as np
import pytest

from smkc.plot.thinning import presence_grid, thin
from smkc.recording import Recording


def test_thinning_keeps_every_peak_and_the_bound(rng: np.random.Generator) -> None:
    scores = rng.normal(size=50_000)
    peaks = 2500 * np.arange(20) + rng.integers(0, 2000, 20)
    scores[peaks] += 100
    rows = thin(scores, max_points=2000)
    assert len(rows) <= 2000
    assert (np.diff(rows) > 0).all()
    assert set(peaks.tolist()) <= set(rows.tolist())


def test_thinning_keeps_a_gap_a_gap() -> None:
    scores = np.ones(10_000)
    scores[4000:6000] = np.nan
    rows = thin(scores, max_points=200)
    assert np.isnan(scores[rows]).any()
    assert not np.isnan(scores[rows]).all()


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_short_scores_are_drawn_whole(rows: int) -> None:
    assert thin(np.zeros(rows), max_points=5).tolist() == list(range(rows))


def test_presence_by_first_appearance_in_percent() -> None:
    rows = [{"b": 1.0}, {"b": 1.0, "a": 1.0}, {"a": 1.0}, {}]
    grid = presence_grid(Recording.from_rows([0, 1, 2, 3], rows), max_bins=2)
    assert grid.names == ("b", "a")
    assert grid.share.tolist() == [[100, 0], [50, 50]]
    assert grid.times.tolist() == [0, 2]
    assert (grid.n_variables, grid.rows_per_bin) == (2, 2)


def test_presence_is_bounded_in_both_directions() -> None:
    rows = [{f"v{t}": 1.0, f"w{t}": 1.0} for t in range(1000)]
    grid = presence_grid(Recording.from_rows(list(range(1000)), rows), 300, 480)
    assert grid.share.shape[0] <= 300
    assert grid.share.shape[1] <= 480
    assert grid.n_variables == 2000
    assert grid.share.max() > 0
    assert grid.names[0] == "v0"
    assert grid.names[-1] == "w999"
