import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import promise
from tests.smkc.scale.conftest import (
    N_REFERENCE,
    SMALL,
    TINY,
    long_table,
    scores_of,
    wide_table,
    write,
)

import smkc
from smkc.errors import InputError, UnscoredWarning
from smkc.paper import KnnDetector
from smkc.scale import ScaleSettings, score_file


@pytest.mark.parametrize("kind", ["evidence", "knn"])
@pytest.mark.parametrize("at_a_time", [256, 2, 1])
def test_entities_are_scored_separately(fleet, recordings, detectors, kind, at_a_time, tmp_path):
    settings = ScaleSettings(held=100, block=500, entities=at_a_time)
    out = tmp_path / "out.parquet"
    summary = score_file(fleet, detectors[kind], out, entity="host", settings=settings)
    assert summary.entities == 3
    table = pq.read_table(out)
    first = 0
    for name, recording in smkc.read(fleet, entity="host").items():
        part = table.slice(first, len(recording))
        first += len(recording)
        assert set(part["entity"].to_pylist()) == {name}
        expected = detectors[kind].decision_function(recording)
        promise.assert_scores_agree(part["score"].to_numpy(), expected, detectors[kind])
        alerts = [alert for entity, alert in summary.alerts if entity == name]
        expected = detectors[kind].alerts(recording, explain=False)
        promise.assert_alerts_agree(alerts, expected, detectors[kind])
    assert first == table.num_rows


@pytest.mark.parametrize("ids", [["x", "y"], [7, 30]], ids=["texts", "numbers"])
def test_entities_of_a_wide_file(recordings, detectors, ids, tmp_path):
    parts = [
        wide_table(recording.rows(N_REFERENCE)).append_column("host", pa.array([host] * 900))
        for host, recording in zip(ids, recordings.values(), strict=False)
    ]
    table = pa.concat_tables(parts, promote_options="default").sort_by("time")
    path = write(tmp_path / "wide.parquet", table, 700)
    out = tmp_path / "out.parquet"
    score_file(path, detectors["knn"], out, entity="host", settings=TINY)
    split = smkc.read(path, entity="host")
    assert sorted(split) == sorted(map(str, ids))
    expected = [detectors["knn"].decision_function(split[name]) for name in sorted(split)]
    promise.assert_scores_agree(scores_of(out), np.concatenate(expected))


def test_entities_in_sequence_with_one_detector_each(recordings, tmp_path):
    parts, own = [], {}
    for name, recording in recordings.items():
        parts.append(long_table(recording.rows(N_REFERENCE), host=name))
        own[name] = KnnDetector(**SMALL).fit(recording.rows(0, N_REFERENCE))
    path = write(tmp_path / "hosts.parquet", pa.concat_tables(parts))
    out = tmp_path / "out.parquet"
    score_file(path, own, out, entity="host", settings=TINY)
    split = smkc.read(path, entity="host")
    expected = [own[name].decision_function(recording) for name, recording in split.items()]
    promise.assert_scores_agree(scores_of(out), np.concatenate(expected))
    del own["host-4"]
    with pytest.raises(InputError, match="entity 'host-4' is not in the reference"):
        score_file(path, own, tmp_path / "other.parquet", entity="host")
    assert not (tmp_path / "other.parquet.parts").exists()


def test_an_entity_shorter_than_a_window_has_no_scores(recordings, detectors, tmp_path):
    short = recordings["host-4"].rows(0, 7)
    parts = [
        long_table(recordings["host-3"].rows(N_REFERENCE), host="long"),
        long_table(short, host="short"),
    ]
    path = write(tmp_path / "live.parquet", pa.concat_tables(parts))
    out = tmp_path / "out.parquet"
    with pytest.warns(UnscoredWarning, match="1 of 2 entities have fewer rows than a window"):
        summary = score_file(path, detectors["knn"], out, entity="host", settings=TINY)
    assert summary.short == 1
    table = pq.read_table(out)
    mine = table.filter(pa.compute.equal(table["entity"], "short"))
    assert mine["score"].null_count == mine.num_rows == 7
