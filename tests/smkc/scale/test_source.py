import numpy as np
import pyarrow as pa
import pytest
from tests.smkc.scale.conftest import long_table, write

from smkc.errors import InputError, ReadError, SettingError
from smkc.scale import ScaleSettings, Source, score_file


def test_row_groups_without_the_entities_asked_for_are_not_read(recordings, tmp_path):
    parts = [long_table(part.rows(0, 300), host=name) for name, part in recordings.items()]
    path = write(tmp_path / "hosts.parquet", pa.concat_tables(parts), 400)
    source = Source.open(path, entity="host")
    counts = source.count_entities()
    assert list(counts) == ["host-3", "host-4", "host-5"]
    for name in counts:
        read = list(source.batches([name]))
        assert {entity for batch in read for entity in batch.entities} == {name}
        assert sum(len(batch.piece.times) for batch in read) == counts[name]
        assert len(read) < len(source.groups)
    whole = list(source.batches())
    np.testing.assert_allclose(sum(batch.share for batch in whole), source.size)
    rest = list(source.batches(first=whole[2].number))
    assert [batch.number for batch in rest] == [batch.number for batch in whole[2:]]
    np.testing.assert_allclose(sum(b.share for b in rest), sum(b.share for b in whole[2:]))


def test_unreadable_sources_are_reported(live, detectors, tmp_path):
    detector = detectors["knn"]
    out = tmp_path / "out.parquet"
    csv = tmp_path / "live.csv"
    csv.write_text("time,cpu\n1,2\n")
    with pytest.raises(ReadError, match="is CSV, which is read whole; write it as Parquet"):
        score_file(csv, detector, out)
    path = write(tmp_path / "live.parquet", long_table(live))
    with pytest.raises(InputError, match=r"call it NAME\.parquet"):
        score_file(path, detector, tmp_path / "out.csv")
    with pytest.raises(ReadError, match="no column 'pod'"):
        score_file(path, detector, out, entity="pod")
    with pytest.raises(SettingError, match="step='soon'"):
        score_file(path, detector, out, read={"step": "soon"})
    nothing = {"time": live.times[:2], "cpu": pa.array([None, None], "f8")}
    bare = write(tmp_path / "bare.parquet", pa.table(nothing))
    with pytest.raises(ReadError, match="holds no observation"):
        score_file(bare, detector, tmp_path / "bare-out.parquet")
    for wrong in ({"held": -1}, {"block": 0}, {"entities": 0}, {"seconds": -1.0}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            ScaleSettings(**wrong)


def test_a_row_without_an_entity_is_named(tmp_path, detectors):
    table = pa.table(
        {"time": [1, 2], "host": ["a", None], "variable": ["v", "v"], "value": [1.0, 2.0]}
    )
    path = write(tmp_path / "live.parquet", table)
    with pytest.raises(ReadError, match=r"row 1 .*'host' of .*row group 0 names no entity"):
        score_file(path, detectors["knn"], tmp_path / "out.parquet", entity="host")
