import numpy as np
import pyarrow as pa
import pytest
from tests import promise
from tests.smkc.scale.conftest import TINY, check_same, long_table, scores_of, write

import smkc
from smkc.errors import ReadError
from smkc.scale import ScaleSettings, score_file


def test_slightly_unsorted_rows_are_sorted(live, detectors, tmp_path):
    table = long_table(live)
    places = np.arange(table.num_rows) + np.random.default_rng(0).uniform(0, 80, table.num_rows)
    path = write(tmp_path / "live.parquet", table.take(np.argsort(places)))
    settings = ScaleSettings(held=400, block=300)
    check_same(path, detectors["knn"], live, tmp_path / "out.parquet", settings=settings)


def test_last_of_duplicate_observations_is_kept(detectors, live, tmp_path):
    table = long_table(live)
    twice = pa.concat_tables([table.slice(at, 1) for at in range(600, 640)])
    twice = twice.set_column(2, "value", pa.array(np.arange(40, dtype=np.float32)))
    both = pa.concat_tables([table.slice(0, 660), twice, table.slice(660)])
    path = write(tmp_path / "live.parquet", both)
    again = smkc.read(path)
    assert again != live
    out = tmp_path / "out.parquet"
    score_file(path, detectors["knn"], out, settings=TINY)
    promise.assert_scores_agree(scores_of(out), detectors["knn"].decision_function(again))


def by_variable(recording):
    order = np.argsort(recording.codes, kind="stable")
    return long_table(recording).filter(pa.compute.field("value").is_valid()).take(order)


def test_a_file_that_is_not_sorted_is_refused_with_a_remedy(live, detectors, tmp_path):
    path = write(tmp_path / "live.parquet", by_variable(live))
    with pytest.raises(ReadError, match="not sorted by time well enough") as error:
        score_file(path, detectors["knn"], tmp_path / "out.parquet", settings=TINY)
    for word in ("live.parquet, row group", "2026-01-05T", "Sort it by time", "--held"):
        assert word in str(error.value)
    assert not (tmp_path / "out.parquet").exists()
    roomy = ScaleSettings(held=10**6, block=1)
    again = tmp_path / "again.parquet"
    score_file(path, detectors["knn"], again, settings=roomy)
    expected = detectors["knn"].decision_function(smkc.read(path))
    promise.assert_scores_agree(scores_of(again), expected)
