"""Small Parquet files, and the scores that the whole recording gives."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import promise, worlds

import smkc
from smkc.paper import KnnDetector
from smkc.recording import Recording
from smkc.scale import ScaleSettings, Summary, score_file

SMALL = {"window": 16, "neighbours": 5, "components": 32, "false_alarm_rate": 0.1}
N_REFERENCE, N_LIVE = 500, 900

# Small enough that a file of some thousand observations is scored in many pieces.
TINY = ScaleSettings(held=100, block=300, seconds=0)


def churning(seed: int, n_rows: int = N_REFERENCE + N_LIVE) -> Recording:
    """Rows with churn, lost samples, a counter that is reset, a newcomer and empty rows."""
    rng = np.random.default_rng(seed)
    table = worlds.churn(rng, worlds.coupled(rng, n_rows, 6))
    table[:, 0] = np.cumsum(rng.poisson(5, n_rows))
    table[n_rows // 2 :, 0] -= table[n_rows // 2, 0]
    table[: n_rows - 400, 5] = np.nan
    table[1000:1020, 2] += 9
    table[rng.random(n_rows) < 0.03] = np.nan
    recording = worlds.recording_of(table, ["requests_total", *worlds.names_of(5)])
    times = np.datetime64("2026-01-05", "ns") + recording.times * np.timedelta64(15, "s")
    return Recording(times, recording.indptr, recording.codes, recording.values, recording.names)


def long_table(recording: Recording, **more: str) -> pa.Table:
    """Return a row an observation, and one for each empty row."""
    table = recording.to_arrow()
    for name, text in more.items():
        table = table.append_column(name, pa.array([text] * table.num_rows))
    return table


def wide_table(recording: Recording) -> pa.Table:
    columns = {name: recording.trace(name) for name in recording.names}
    return pa.table({"time": recording.times, **columns})


def write(path: Path, table: pa.Table, row_group: int = 500) -> Path:
    pq.write_table(table, path, row_group_size=row_group)
    return path


def scores_of(path: Path) -> Any:
    """(T,) the scores that were written."""
    return pq.read_table(path)["score"].to_numpy()


def check_same(
    path: Path | str, detector: smkc.Detector, recording: Recording, out: Path, **more: Any
) -> Summary:
    """Check scores, marks and alerts against those of the whole recording, as promised."""
    summary = score_file(path, detector, out, **({"settings": TINY} | more))
    expected = detector.decision_function(recording)
    table = pq.read_table(out)
    promise.assert_scores_agree(table["score"].to_numpy(), expected, detector)
    times = table["time"].to_numpy()
    np.testing.assert_array_equal(times, recording.times)
    marked = table["anomalous"].to_numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(marked, expected > detector.threshold_)
    alerts = [alert for _, alert in summary.alerts]
    promise.assert_alerts_agree(alerts, detector.alerts(recording, explain=False), detector)
    assert summary.n_alerts == len(summary.alerts)
    assert (summary.rows, summary.observations) == (len(recording), recording.n_observations)
    assert not out.with_name(f"{out.name}.parts").exists()
    return summary


def check_agree(actual: tuple[Path, Summary], expected: tuple[Path, Summary], kind: str) -> None:
    """Check what two runs wrote and said against each other, as promised."""
    if promise.is_exact(kind.split()[0]):
        assert actual[0].read_bytes() == expected[0].read_bytes()
        assert actual[1] == expected[1]
        return
    tables = [pq.read_table(path) for path, _ in (actual, expected)]
    rest = [table.drop_columns(["score"]) for table in tables]
    assert rest[0].equals(rest[1])
    promise.assert_scores_agree(*(table["score"].to_numpy() for table in tables))
    alerts = [[alert for _, alert in summary.alerts] for _, summary in (actual, expected)]
    promise.assert_alerts_agree(*alerts, kind)
    bare = [replace(summary, alerts=()) for _, summary in (actual, expected)]
    assert bare[0] == bare[1]


@pytest.fixture(scope="session")
def recordings() -> dict[str, Recording]:
    return {f"host-{seed}": churning(seed) for seed in (3, 4, 5)}


@pytest.fixture(scope="session")
def live(recordings) -> Recording:
    return recordings["host-3"].rows(N_REFERENCE).canonical()


@pytest.fixture(scope="session")
def detectors(recordings) -> dict[str, smkc.Detector]:
    reference = recordings["host-3"].rows(0, N_REFERENCE)
    return {
        "evidence": smkc.Detector(false_alarm_rate=0.02).fit(reference),
        "evidence prompt": smkc.Detector(align="prompt", false_alarm_rate=0.01).fit(reference),
        "knn": KnnDetector(**SMALL).fit(reference),
        "knn prompt": KnnDetector(align="prompt", **SMALL).fit(reference),
        "knn stride": KnnDetector(stride=5, **SMALL).fit(reference),
        "knn far": KnnDetector(stride=37, **SMALL).fit(reference),
        "knn unscaled": KnnDetector(scaling=None, **SMALL).fit(reference),
    }


@pytest.fixture(scope="session")
def fleet(recordings, tmp_path_factory) -> Path:
    """Three hosts in one long file, sorted by time."""
    parts = [
        long_table(recording.rows(N_REFERENCE), host=name) for name, recording in recordings.items()
    ]
    table = pa.concat_tables(parts).sort_by("time")
    return write(tmp_path_factory.mktemp("fleet") / "fleet.parquet", table, 2000)
