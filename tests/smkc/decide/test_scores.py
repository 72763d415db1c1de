import numpy as np
import pytest

from smkc.decide import WindowScores


@pytest.fixture
def table():
    return WindowScores(
        first_row=np.array([0, 2]),
        last_row=np.array([3, 5]),
        start=np.array(["2026-01-01T00:00", "2026-01-01T00:02"], "datetime64[ns]"),
        end=np.array(["2026-01-01T00:03", "2026-01-01T00:05"], "datetime64[ns]"),
        score=np.array([0.25, np.nan]),
        p_value=np.array([0.5, np.nan]),
    )


def test_length_and_unscored(table):
    assert len(table) == 2
    assert table.n_unscored == 1


@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
def test_as_a_table_of_any_library(table, library):
    frame = getattr(table, f"to_{library}")()
    as_pandas = frame if library == "pandas" else frame.to_pandas()
    assert list(as_pandas) == ["start", "end", "score", "p_value"]
    np.testing.assert_array_equal(as_pandas["start"].to_numpy("datetime64[ns]"), table.start)
    np.testing.assert_array_equal(as_pandas["score"], table.score)
    np.testing.assert_array_equal(as_pandas["p_value"], table.p_value)
