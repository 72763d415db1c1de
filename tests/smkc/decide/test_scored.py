"""A recording scored once: what the detector's own methods say, for every kind of detector."""

import numpy as np
import pytest
from tests import worlds

import smkc
from smkc.decide import Mark
from smkc.decide.scored import Learned, release_threshold
from smkc.errors import WindowError
from smkc.paper import KnnDetector

DETECTORS = {
    "default": smkc.Detector(false_alarm_rate=0.01),
    "default prompt": smkc.Detector(false_alarm_rate=0.01, align="prompt", window=16),
    "knn": KnnDetector(window=16, false_alarm_rate=0.01),
    "knn stride": KnnDetector(window=16, stride=5, align="prompt", false_alarm_rate=0.01),
}
N_REFERENCE, N_LIVE = 900, 300


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    table = worlds.coupled(rng, N_REFERENCE + N_LIVE, 5)
    table[N_REFERENCE + 200 : N_REFERENCE + 220, 2] += 15
    return table


@pytest.fixture(scope="module")
def live(table):
    return worlds.recording_of(table[N_REFERENCE:], first_time=N_REFERENCE)


@pytest.fixture(scope="module", params=DETECTORS)
def detector(request, table):
    return DETECTORS[request.param].fit(worlds.recording_of(table[:N_REFERENCE]))


@pytest.fixture(scope="module")
def scored(detector, live):
    return detector.score(live)


def test_it_says_what_the_detector_says(detector, scored, live):
    np.testing.assert_array_equal(scored.scores, detector.decision_function(live))
    np.testing.assert_array_equal(scored.p_values, detector.p_values(live))
    np.testing.assert_array_equal(scored.is_alert, detector.predict(live))
    np.testing.assert_array_equal(scored.windows.score, detector.score_windows(live).score)
    for align in ("sharp", "prompt"):
        np.testing.assert_array_equal(
            scored.scores_aligned(align), detector.decision_function(live, align=align)
        )
    assert scored.threshold == detector.threshold_
    assert scored.alerts() == detector.alerts(live)
    at = N_REFERENCE + 205
    assert scored.explain(at) == detector.explain(live, at)
    assert len(scored) == len(scored.times) == N_LIVE


def test_alerts_are_alarms_past_the_threshold(detector, scored):
    alerts = scored.alerts()
    assert any(alert.first_row <= 210 <= alert.last_row for alert in alerts)
    assert all(alert.causes for alert in alerts)
    assert [alert.causes for alert in scored.alerts(explain=False)] == [()] * len(alerts)
    release = release_threshold(detector.fitted_, detector.false_alarm_rate)
    assert release < scored.alarm_threshold
    for alert in alerts:
        assert alert.score == np.nanmax(scored.alarms[alert.first_row : alert.last_row + 1])
        assert alert.score > scored.alarm_threshold
        assert scored.alarms[alert.first_row] > release
    marks = scored.windows_scored.marks
    is_echo = np.zeros(len(scored.alarms), bool) if marks is None else marks == Mark.ECHO
    loud = (scored.alarms > scored.alarm_threshold) & ~is_echo
    assert (scored.is_alert[loud] == 1).all()


def test_it_is_a_table_of_time_steps(scored):
    frame = scored.to_pandas()
    assert list(frame) == scored.to_polars().columns == scored.to_arrow().column_names
    np.testing.assert_array_equal(frame["score"], scored.scores)
    np.testing.assert_array_equal(frame["is_alert"], scored.is_alert)
    assert list(frame["time"]) == list(scored.times)


def test_what_was_found_does_not_depend_on_later_settings(detector, live):
    scored = detector.score(live)
    before, rate = scored.alerts(explain=False), detector.false_alarm_rate
    detector.set_params(false_alarm_rate=0.2)
    try:
        assert scored.alerts(explain=False) == before
        assert scored.settings["false_alarm_rate"] == scored.false_alarm_rate == rate
    finally:
        detector.set_params(false_alarm_rate=rate)


def test_a_lists_change_changes_nothing_kept(scored):
    scored.alerts().clear()
    assert scored.alerts()


def test_a_time_that_is_not_there_is_named(scored):
    with pytest.raises(WindowError, match="no row between 5000 and 5000; choose times between"):
        scored.explain(5000)


def test_reference_scores_are_worked_out_once(table, monkeypatch):
    detector = smkc.Detector(false_alarm_rate=0.01).fit(worlds.recording_of(table[:N_REFERENCE]))
    first, labels = detector.decision_scores_, detector.labels_
    fitted = type(detector.fitted_)
    monkeypatch.delattr(fitted, "updated")  # a second fit would fail
    np.testing.assert_array_equal(detector.decision_scores_, first)
    np.testing.assert_array_equal(detector.labels_, labels)
    detector.decision_scores_[:] = 0
    np.testing.assert_array_equal(detector.decision_scores_, first)


def test_the_strangest_moments_beside_the_alerts_come_next(detector, scored):
    moments = scored.strangest(4)
    assert len(moments) == 4
    window = detector.fitted_.window
    taken = [(one.first_row, one.last_row) for one in scored.alerts()]
    for one in moments:
        assert one.score <= scored.alarm_threshold
        assert one.score == np.nanmax(scored.alarms[one.first_row : one.last_row + 1])
        assert all(
            one.first_row > last + window or one.last_row < first - window for first, last in taken
        )
        taken.append((one.first_row, one.last_row))
    free = np.ones(len(scored), bool)
    for one in scored.alerts():
        free[max(0, one.first_row - window) : one.last_row + 1 + window] = False
    assert moments[0].score == np.nanmax(scored.alarms[free])
    assert [one.score for one in moments] == sorted((one.score for one in moments), reverse=True)
    assert scored.strangest(0) == []
    assert [one.causes for one in scored.strangest(2, explain=False)] == [(), ()]


def test_it_says_which_rows_were_learned_from(detector, scored, tmp_path):
    learned = scored.learned
    assert (learned.rows, learned.start, learned.end) == (N_REFERENCE, "0", str(N_REFERENCE - 1))
    detector.save(tmp_path / "one.smkc")
    assert smkc.load(tmp_path / "one.smkc").learned_ == detector.learned_ == learned


def test_hours_that_the_reference_does_not_cover_are_noted():
    times = np.datetime64("2026-03-04T09:00", "ns") + np.arange(2880).astype("m8[m]")
    values = np.random.default_rng(0).normal(size=2880)

    def notes(n: int) -> tuple[str, ...]:
        detector = smkc.Detector().fit({"time": times[:n], "cpu": values[:n]})
        return detector.score({"time": times[n:], "cpu": values[n:]}).notes

    (note,) = notes(600)  # 10 hours; the next 38 have 14 others twice
    assert note.startswith("1,680 of 2,280 rows are at times of the day that the reference, from")
    assert notes(1440) == ()


def test_a_model_file_that_names_no_times_has_no_note():
    times = np.array(["2026-03-04T09:00"], "M8[ns]")
    assert Learned(rows=1, start="long ago", end="2026-03-04").n_at_other_hours(times) == 0
