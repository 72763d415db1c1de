"""What goes in as a frame comes back aligned with its rows, its index and its time zone."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import smkc
from smkc.recording import aligned

ZONE = "Europe/Berlin"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    index = pd.date_range("2026-03-28 12:00", periods=1000, freq="5min", tz=ZONE, name="when")
    frame = pd.DataFrame(rng.normal(size=(1000, 2)), columns=["cpu", "mem"], index=index)
    frame.iloc[800:820] += 8
    return frame


@pytest.fixture(scope="module")
def detector(frame) -> smkc.Detector:
    return smkc.Detector(false_alarm_rate=0.01).fit(frame[:500])


CALLS = {
    "decision_function": lambda detector, data: detector.decision_function(data),
    "p_values": lambda detector, data: detector.p_values(data),
    "predict": lambda detector, data: detector.predict(data),
    "evidences": lambda detector, data: detector.evidences(data)["jump"],
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_rows_come_back_in_the_order_and_number_in_which_they_went_in(frame, detector, call):
    live = frame[500:]
    expected = pd.Series(call(detector, live), live.index)
    order = np.random.default_rng(1).permutation(len(live))
    shuffled = live.iloc[order]
    np.testing.assert_array_equal(call(detector, shuffled), expected.loc[shuffled.index])
    repeated = pd.concat([live, live[100:150]])
    found = call(detector, repeated)
    assert found.shape == (550,)
    np.testing.assert_array_equal(found, expected.loc[repeated.index])


def test_predict_marks_the_same_rows_however_they_are_ordered(frame, detector):
    live = frame[500:].sample(frac=1, random_state=3)
    marked = live.index[detector.predict(live) == 1]
    assert frame.index[805] in marked
    assert frame.index[700] not in marked


@pytest.mark.parametrize("kind", ["column", "naive", "dict", "dicts", "array", "polars"])
def test_other_tables_come_back_alike(frame, detector, kind):
    live = frame[500:]
    expected = detector.decision_function(live)
    table = live.reset_index().rename(columns={"when": "time"})
    utc = table.assign(time=table.time.dt.tz_convert("UTC").dt.tz_localize(None))
    given = {
        "column": table.set_index(np.arange(len(live)) * 7),
        "naive": utc,
        "dict": {name: utc[name].to_numpy() for name in utc},
        "dicts": utc.to_dict("records"),
        "array": live.rename_axis(None).to_numpy(),
        "polars": pl.from_pandas(utc),
    }[kind]
    if kind == "array":
        detector = smkc.Detector(false_alarm_rate=0.01).fit(frame[:500].to_numpy())
        assert detector.decision_function(given).shape == (500,)
        return
    np.testing.assert_array_equal(detector.decision_function(given), expected)


def test_the_reference_comes_back_aligned_too(frame):
    order = np.random.default_rng(1).permutation(500)
    straight = smkc.Detector(false_alarm_rate=0.01).fit(frame[:500])
    shuffled = smkc.Detector(false_alarm_rate=0.01).fit(frame.iloc[order])
    np.testing.assert_array_equal(shuffled.decision_scores_, straight.decision_scores_[order])
    np.testing.assert_array_equal(shuffled.labels_, straight.labels_[order])


def test_to_pandas_keeps_the_index_and_the_zone(frame, detector):
    live = frame[500:]
    table = detector.score_windows(live.sample(frac=1, random_state=1)).to_pandas()
    pd.testing.assert_index_equal(table.index, live.index, check_freq=False)
    assert str(table["end"].dt.tz) == ZONE
    np.testing.assert_array_equal(table["end"], live.index)
    polars = detector.score_windows(live).to_polars()
    assert polars.schema["end"].time_zone == ZONE
    numbered = live.reset_index().set_index(np.arange(500) * 7)
    assert detector.score_windows(numbered).to_pandas().index[3] == 21
    assert detector.score_windows(smkc.read(live)).to_pandas()["end"].dt.tz is None


def test_a_long_table_and_a_file_have_one_score_per_time_step(frame, detector, tmp_path):
    live = frame[500:]
    long = live.reset_index().melt(id_vars="when", var_name="variable")
    live.to_csv(tmp_path / "live.csv")
    for given in (long.rename(columns={"when": "time"}), tmp_path / "live.csv"):
        assert aligned(given).rows is None
        np.testing.assert_array_equal(
            detector.decision_function(given), detector.decision_function(live)
        )


def test_a_scored_recording_is_in_order_of_time_and_keeps_index_and_zone():
    rng = np.random.default_rng(3)
    times = pd.date_range("2026-01-05", periods=400, freq="min", tz="Europe/Berlin")
    frame = pd.DataFrame({"cpu": rng.normal(size=400)}, index=times.rename("time"))
    shuffled = frame.sample(frac=1.0, random_state=1)
    scored = smkc.Detector(false_alarm_rate=0.05).fit(frame).score(shuffled)
    table = scored.to_pandas()
    assert list(table["time"]) == list(times)
    assert table.index.equals(times)
    assert str(scored.to_arrow().schema.field("time").type.tz) == "Europe/Berlin"
    detector = smkc.Detector(false_alarm_rate=0.05).fit(frame)
    by_row = pd.Series(detector.decision_function(shuffled), index=shuffled.index)
    np.testing.assert_array_equal(by_row.sort_index().to_numpy(), scored.scores)
