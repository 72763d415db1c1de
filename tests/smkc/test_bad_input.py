"""Bad input at the level of the detector: a result that makes sense, or an error with a remedy."""

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from tests import worlds

import smkc
from smkc.errors import (
    CalibrationWarning,
    InputError,
    ReadError,
    SettingError,
    UnscoredWarning,
    WindowError,
)
from smkc.paper import KnnDetector
from smkc.recording import Recording

SMALL = {"window": 16, "neighbours": 5, "components": 32, "false_alarm_rate": 0.05}


@pytest.fixture(scope="module")
def table():
    return worlds.coupled(np.random.default_rng(11), 500, 3)


@pytest.fixture(scope="module")
def det(table):
    return KnnDetector(**SMALL).fit(worlds.recording_of(table[:300]))


@pytest.fixture(params=["fit", "decision_function", "alerts", "partial_fit"])
def use(request, table):
    """Each way in which a recording reaches the detector."""
    det = KnnDetector(**SMALL).fit(worlds.recording_of(table[:300]))
    return getattr(det, request.param)


# ---------------------------------------------------------------------- refused with a remedy


def test_an_empty_file(use, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ReadError, match=r"empty\.csv"):
        use(tmp_path / "empty.csv")


def test_a_file_with_a_header_alone(use, tmp_path):
    (tmp_path / "header.csv").write_text("time,cpu\n")
    with pytest.raises(InputError, match=r"header\.csv|0 rows.*longer recording"):
        use(tmp_path / "header.csv")


def test_one_row(use):
    with pytest.raises(WindowError, match=r"1 rows, the window needs 16.*longer recording"):
        use({"time": [0], "cpu": [1.0]})


def test_no_time_column(use):
    with pytest.raises(ReadError, match=r"times.*cpu.*time='"):
        use({"cpu": np.ones(300), "host": ["a"] * 300})


def test_text_where_numbers_belong(use):
    values = ["1.0"] * 299 + ["warm"]
    with pytest.raises(ReadError, match="'warm'"):
        use({"time": np.arange(300), "cpu": values})


def test_a_window_longer_than_the_recording(table):
    with pytest.raises(WindowError, match=r"300 rows, the window needs 400.*at most 300"):
        KnnDetector(**SMALL | {"window": 400}).fit(worlds.recording_of(table[:300]))


def test_a_huge_window_is_refused_before_memory_is_taken(table):
    settings = SMALL | {"window": 10**9, "representation": "full image"}
    with pytest.raises(SettingError, match="shorter window"):
        KnnDetector(**settings).fit(worlds.recording_of(table))


def test_fewer_reference_windows_than_neighbours(table):
    with pytest.raises(WindowError, match=r"5 windows of 16 rows for 20 neighbours: give more"):
        KnnDetector(window=16).fit(worlds.recording_of(table[:20]))


def test_too_few_windows_to_calibrate_with(table):
    with pytest.raises(WindowError, match=r"left out, no 20 other windows.*fewer neighbours"):
        KnnDetector(window=16).fit(worlds.recording_of(table[:40]))


def test_reference_data_in_which_nothing_was_seen():
    with pytest.raises(WindowError, match=r"0 windows.*give more reference data"):
        KnnDetector(**SMALL).fit(worlds.recording_of(np.full((300, 2), np.nan)))


def test_a_parquet_file_cut_in_half(use, tmp_path, table):
    path = tmp_path / "half.parquet"
    columns = {"time": np.arange(500), **dict(zip("abc", table.T, strict=True))}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ReadError, match=r"half\.parquet"):
        use(path)


def test_a_model_fitted_with_another_window(table, tmp_path):
    det = KnnDetector(**SMALL).fit(worlds.recording_of(table[:300]))
    det.save(tmp_path / "m")
    loaded = smkc.load(tmp_path / "m").set_params(window=32)
    with pytest.raises(SettingError, match=r"fitted with window=16, now window=32: fit again"):
        loaded.decision_function(worlds.recording_of(table))


def test_what_cannot_be_read_at_all(use):
    with pytest.raises(ReadError, match="give the path of a CSV"):
        use(object())


def test_dates_for_a_model_of_plain_numbers(det, table):
    dates = np.datetime64("2026-01-01", "ns") + np.arange(500) * np.timedelta64(1, "s")
    plain = worlds.recording_of(table)
    dated = Recording(dates, plain.indptr, plain.codes, plain.values, plain.names)
    with pytest.raises(InputError, match="same time_unit"):
        det.decision_function(dated)


# ---------------------------------------------------------------------- a result that makes sense


def test_one_variable(rng):
    table = worlds.coupled(rng, 500, 1)
    worlds.spike(rng, table, 450, 0)
    det = KnnDetector(**SMALL).fit(worlds.recording_of(table[:300]))
    live = worlds.recording_of(table[300:], first_time=300)
    assert det.explain(live, 450)[0].variable == "v000"
    windows = det.score_windows(live)
    assert np.isfinite(windows.score).all()
    assert windows.p_value.min() < 0.2


def test_all_missing_is_all_nan(det):
    nothing = worlds.recording_of(np.full((60, 3), np.nan))
    with pytest.warns(UnscoredWarning, match="45 of 45"):
        assert np.isnan(det.decision_function(nothing)).all()
    with pytest.warns(UnscoredWarning):
        assert det.predict(nothing).sum() == 0
    with pytest.warns(UnscoredWarning):
        assert det.alerts(nothing) == []


def test_constant_data_raise_no_alert_until_they_move():
    calm = np.full((400, 2), 3.25)
    det = KnnDetector(**SMALL).fit(worlds.recording_of(calm[:300]))
    live = worlds.recording_of(calm[300:], first_time=300)
    assert det.predict(live).sum() == 0
    assert det.alerts(live) == []
    calm[350, 1] = 3.5
    (alert,) = det.alerts(worlds.recording_of(calm[300:], first_time=300))
    assert alert.start <= 350 <= alert.end
    assert alert.causes[0].variable == "v001"


def test_constant_live_data_are_judged(det):
    scores = det.decision_function(worlds.recording_of(np.ones((60, 3))))
    assert np.isfinite(scores).all()


def test_times_that_go_back_are_sorted_and_scores_come_back_in_their_order(det, table):
    order = np.random.default_rng(0).permutation(200)
    columns = dict(zip(worlds.names_of(3), table[300:][order].T, strict=True))
    actual = det.decision_function({"time": np.arange(300, 500)[order], **columns})
    expected = det.decision_function(worlds.recording_of(table[300:], first_time=300))
    np.testing.assert_array_equal(actual, expected[order])


def test_duplicate_names_keep_the_last(det, table):
    times, names = np.repeat(np.arange(300, 500), 3), worlds.names_of(3) * 200
    long = {"time": times, "variable": names, "value": table[300:].ravel()}
    twice = {key: np.concatenate([np.array(column)] * 2) for key, column in long.items()}
    twice["value"][:600] = 99.0
    np.testing.assert_array_equal(det.decision_function(twice), det.decision_function(long))


def test_a_hundred_thousand_variables_in_one_row(det, table):
    plain = worlds.recording_of(table[300:400], first_time=300)
    crowd = {f"pod{j}": float(j % 13) for j in range(100_000)}
    rows = [plain.row(t) | (crowd if t == 50 else {}) for t in range(100)]
    recording = Recording.from_rows(plain.times, rows)
    scores = det.decision_function(recording)
    assert np.isfinite(scores).all()
    assert scores[50] > det.decision_function(plain)[50]
    stream = det.stream()
    streamed = [stream.push(t, row) for t, row in zip(plain.times, rows, strict=True)]
    expected = det.decision_function(recording, align="prompt")
    np.testing.assert_allclose(streamed[15:], expected[15:], atol=1e-6)


def test_causes_among_very_many_variables_are_few_and_say_the_group(det, table):
    plain = worlds.recording_of(table[300:400], first_time=300)
    crowd = {f"pod{j}": float(j % 13) for j in range(20_000)}
    rows = [plain.row(t) | (crowd if t == 50 else {}) for t in range(100)]
    causes = det.explain(Recording.from_rows(plain.times, rows), 350)
    assert 0 < len(causes) <= 64
    assert causes[0].variable in crowd
    assert len(causes[0].joint_with) == 20_000 - 1
    assert len(str(causes[0])) < 300


def test_names_with_any_unicode(table):
    names = ["", "\u6e29\u5ea6", "\U0001f321 \u202eabc\n\x00"]
    det = KnnDetector(**SMALL).fit(worlds.recording_of(table[:300], names))
    live = table[300:].copy()
    worlds.spike(np.random.default_rng(0), live, 150, 2)
    recording = worlds.recording_of(live, names, 300)
    assert np.isfinite(det.decision_function(recording)).all()
    cause = det.explain(recording, 450)[0]
    assert cause.variable == names[2]
    assert names[2] in str(cause)


def test_infinities_are_missing(det, table):
    holed, infinite = table[300:].copy(), table[300:].copy()
    holed[::7, 1] = np.nan
    infinite[::7, 1] = np.inf
    columns = dict(zip(worlds.names_of(3), infinite.T, strict=True))
    expected = det.decision_function(worlds.recording_of(holed, first_time=300))
    actual = det.decision_function({"time": np.arange(300, 500), **columns})
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("scaling", ["robust", None])
@pytest.mark.parametrize("size", [1e38, 1e-40, -3e38, 1.4e-45])
def test_huge_values_and_denormals(table, scaling, size):
    wild = table.copy()
    wild[::50, 1] = size
    wild[:, 2] = size
    for reference in (table, wild):
        det = KnnDetector(**SMALL, scaling=scaling).fit(worlds.recording_of(reference[:300]))
        live = worlds.recording_of(wild[300:], first_time=300)
        scores = det.decision_function(live)
        assert np.isfinite(scores).all()
        det.alerts(live)


def test_too_bold_a_rate_is_said(table):
    det = KnnDetector(**SMALL | {"false_alarm_rate": 1e-6})
    det.fit(worlds.recording_of(table[:300]))
    with pytest.warns(CalibrationWarning, match="more reference data or a higher rate"):
        det.predict(worlds.recording_of(table[300:], first_time=300))
