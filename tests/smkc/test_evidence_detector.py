"""The default detector as users meet it: scores in nats, alerts with reasons, stream, file."""

from dataclasses import replace

import numpy as np
import pytest

import smkc
from smkc.errors import (
    CalibrationWarning,
    InputError,
    InputWarning,
    ModelFileError,
    SettingError,
)
from smkc.evidence.causes.loud import loud_rows, loudness
from smkc.evidence.settings import SETTINGS
from smkc.paper import KnnDetector
from smkc.recording import Recording

# Long enough for the default rate of false alarms.
N_REFERENCE, N_LIVE, N_VARIABLES = 2400, 400, 5
FAULT = slice(250, 280)


def made(rng, first, n):
    """Return a table of variables that follow two common causes."""
    causes = np.sin((first + np.arange(n))[:, None] / np.array([9.0, 23.0]))
    mixing = np.array([[1.0, 0.2], [0.8, -0.5], [0.1, 1.0], [-0.6, 0.6], [0.5, 0.5]])
    return causes @ mixing.T + 0.2 * rng.normal(size=(n, N_VARIABLES))


def recording_of(table, first=0):
    names = [f"v{j}" for j in range(table.shape[1])]
    rows = [
        {name: x for name, x in zip(names, row, strict=True) if np.isfinite(x)} for row in table
    ]
    return Recording.from_rows(range(first, first + len(table)), rows)


@pytest.fixture(scope="module")
def reference():
    return recording_of(made(np.random.default_rng(1), 0, N_REFERENCE))


@pytest.fixture(scope="module")
def live():
    table = made(np.random.default_rng(2), N_REFERENCE, N_LIVE)
    table[FAULT, 2] += 4.0
    return recording_of(table, N_REFERENCE)


@pytest.fixture(scope="module")
def detector(reference):
    return smkc.Detector().fit(reference)


def rows_of(recording, first=0):
    return [(recording.times[t], recording.row(t)) for t in range(first, len(recording))]


def test_it_is_the_default_and_says_what_it_chose(detector):
    assert detector.kind == "evidence"
    choices = detector.fitted_.known.choices
    assert choices.window == detector.fitted_.window
    assert any("windows of" in reason for reason in choices.reasons)


def test_p_values_are_those_of_the_moment(detector, live):
    windows = detector.score_windows(live)
    assert len(windows) == N_LIVE
    np.testing.assert_allclose(detector.p_values(live), windows.p_value, rtol=1e-12)
    assert (windows.p_value <= 1.0).all()
    first = detector.p_values(live.rows(0, FAULT.start + 1))
    np.testing.assert_array_equal(first, detector.p_values(live)[: FAULT.start + 1])
    assert first[-1] < detector.false_alarm_rate, "the first row of the fault is enough"


def test_predict_marks_the_rows_of_alerts_and_no_others(detector, live):
    p_values, marked = detector.p_values(live), detector.predict(live)
    expected = np.zeros(N_LIVE, np.int64)
    for alert in detector.alerts(live, explain=False):
        expected[alert.first_row : alert.last_row + 1] = 1
        assert alert.p_value == p_values[alert.first_row : alert.last_row + 1].min()
        # An alert is not shifted in time: it begins and ends in rows that are surprising.
        for end in (alert.first_row, alert.last_row):
            assert p_values[end] < 10 * detector.false_alarm_rate
    np.testing.assert_array_equal(marked, expected)
    assert marked[p_values < detector.false_alarm_rate].all()
    assert 0 < marked.sum() < N_LIVE


def test_marks_close_together_are_one_alert(detector):
    def alerts(n_between):
        table = made(np.random.default_rng(2), N_REFERENCE, N_LIVE)
        table[[200, 201 + n_between], 2] += 40.0
        judged = detector.fitted_.score(recording_of(table, N_REFERENCE))
        # What follows a mark for other reasons would fill the gap.
        is_marked = np.isin(np.arange(N_LIVE), (200, 201 + n_between))
        assert (judged.p_values[is_marked] < detector.false_alarm_rate).all()
        quiet = replace(judged, alarms=np.where(is_marked, judged.alarms, 0.0))
        scored = detector.score(judged.prepared)
        return replace(scored, windows_scored=quiet).alerts(explain=False)

    (one,) = alerts(SETTINGS.calm_rows)
    assert (one.first_row, one.last_row) == (200, 201 + SETTINGS.calm_rows)
    assert [alert.first_row for alert in alerts(SETTINGS.calm_rows + 1)] == [
        200,
        202 + SETTINGS.calm_rows,
    ]


def test_a_short_reference_is_said_to_be_too_short_for_a_low_rate(reference, live):
    short = smkc.Detector(false_alarm_rate=0.001).fit(reference.rows(0, 200))
    with pytest.warns(CalibrationWarning, match=r"rate of 0.001 is far below"):
        short.alerts(live, explain=False)
    short.false_alarm_rate = 0.01
    assert short.predict(live)[FAULT].mean() > 0.8


def test_the_threshold_is_what_reference_data_exceed(detector, live):
    """Whatever is louder than all of the reference is past the threshold."""
    assert detector.decision_function(live.rows(0, 200)).max() < detector.threshold_
    shifted = recording_of(made(np.random.default_rng(4), N_REFERENCE, 30) + 5.0, N_REFERENCE)
    loud = detector.score_windows(shifted)
    assert (loud.score > detector.threshold_).all()
    assert (loud.p_value < detector.false_alarm_rate).all()


def test_a_fault_is_found_and_nothing_else(detector, live):
    marked = detector.predict(live)
    assert marked[FAULT].all()
    assert not marked[: FAULT.start].any()
    assert not marked[FAULT.stop + 30 :].any(), "means over 16 rows, and 20 calm rows"


def test_alerts_name_the_evidence_and_the_variable(detector, live):
    (alert,) = detector.alerts(live)
    assert alert.first_row == FAULT.start
    cause = alert.causes[0]
    assert cause.variable == "v2"
    assert cause.kind in ("level", "relation", "jump")
    assert "usual" in cause.detail
    asked = detector.explain(live, N_REFERENCE + FAULT.start + 5, N_REFERENCE + FAULT.stop)
    assert asked[0].variable == "v2"
    assert sum(one.share for one in asked) <= 1 + 1e-9


def test_evidences_are_given_by_name(detector, live):
    nats = detector.evidences(live)
    assert {"level", "slow level", "jump", "relation"} <= set(nats)
    assert all(one.shape == (N_LIVE,) for one in nats.values())
    assert np.nanmax(nats["level"][FAULT]) > 4
    assert KnnDetector(window=16, false_alarm_rate=0.05).fit(live).score(live).evidences == {}


def test_sharp_scores_hold_surprises_around_their_rows(detector, live):
    prompt, sharp = (detector.decision_function(live, align=way) for way in ("prompt", "sharp"))
    found = detector.fitted_.known.start().push_rows(live)
    np.testing.assert_array_equal(prompt, found.scores)
    np.testing.assert_array_equal(found.scores, found.held + found.prompt)
    ahead = detector.fitted_.held_rows - 1
    around = np.append(found.held[ahead:], [found.held[-1]] * ahead)
    np.testing.assert_array_equal(sharp, around + found.prompt)
    np.testing.assert_array_equal(detector.decision_function(live), sharp)


def test_a_stream_gives_the_same_scores(detector, live):
    stream = detector.stream()
    scores = [stream.push(time, row) for time, row in rows_of(live)]
    np.testing.assert_array_equal(scores, detector.decision_function(live, align="prompt"))
    assert stream.n_rows == N_LIVE
    assert stream.p_value == detector.score_windows(live).p_value[-1]


def test_a_stream_takes_many_rows_at_once_and_names_causes(detector, live):
    stream = detector.stream()
    parts = [stream.push_rows(live.rows(at, min(at + 50, N_LIVE))) for at in range(0, N_LIVE, 50)]
    judged = detector.fitted_.score(live)
    assert np.array_equal(np.concatenate([part.scores for part in parts]), judged.scores)
    assert np.array_equal(np.concatenate([part.held for part in parts]), judged.held)
    assert np.array_equal(np.concatenate([part.prompt for part in parts]), judged.prompt)
    assert np.array_equal(np.concatenate([part.p_values for part in parts]), judged.p_values)
    assert stream.p_value == judged.p_values[-1]
    last, w = N_LIVE - 1, stream.window
    made_by = range(last - 2 * w + 2, last + 1)
    nats = np.concatenate([part.nats for part in parts])
    loud = {row: loudness(nats[row].tolist()) for row in made_by}
    first, end = loud_rows(loud, made_by[0], last)  # as a live watch asks
    rows = live.rows(first - w + 1, end + 1)
    assert (
        stream.causes(first, end + 1, rows) == detector.fitted_.causes(judged, [last], [first])[0]
    )
    with pytest.raises(smkc.errors.InputError, match="remembered"):
        stream.causes(N_LIVE, N_LIVE + 1, rows)
    assert stream.memory >= N_LIVE - first


def test_a_stream_goes_on_where_it_was_saved(detector, live, tmp_path):
    stream = detector.stream()
    for time, row in rows_of(live)[:150]:
        stream.push(time, row)
    stream.save(tmp_path / "state")
    again = detector.stream(resume=tmp_path / "state")
    for time, row in rows_of(live, 150):
        assert stream.push(time, row) == again.push(time, row)
    other = smkc.Detector().fit(live)
    with pytest.raises(ModelFileError, match="another model"):
        other.stream(resume=tmp_path / "state")
    with pytest.raises(InputError, match="is not after"):
        again.push(0, {})


def test_saved_and_loaded_to_the_bit(detector, live, tmp_path):
    detector.save(tmp_path / "model")
    loaded = smkc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(live), detector.decision_function(live))
    np.testing.assert_array_equal(loaded.p_values(live), detector.p_values(live))
    assert loaded.get_params() == detector.get_params()
    assert [str(one) for one in loaded.alerts(live)] == [str(one) for one in detector.alerts(live)]


def test_scores_of_the_reference_come_from_earlier_rows(detector, reference):
    scores = detector.decision_scores_
    assert scores.shape == (N_REFERENCE,)
    n_fitted = int(0.6 * N_REFERENCE)
    assert np.isnan(scores[:n_fitted]).all()
    assert np.isfinite(scores[n_fitted:]).all()
    assert detector.labels_.mean() < 0.05


def test_more_reference_data_are_learned(reference, live):
    first = smkc.Detector().fit(reference.rows(0, 700))
    first.partial_fit(reference.rows(700, N_REFERENCE))
    assert first.predict(live)[FAULT].mean() > 0.8


def test_what_a_person_calls_normal_is_heard_no_more(detector, live):
    told, untold = detector.stream(), detector.stream()
    shifted = [(time, {**row, "v0": row["v0"] + 4.0}) for time, row in rows_of(live)]
    p_values = []
    for stream in (told, untold):
        for time, row in shifted[:120]:
            stream.push(time, row)
        if stream is told:
            stream.accept(100, 120)
        p_values.append([])
        for time, row in shifted[120:160]:
            stream.push(time, row)
            p_values[-1].append(stream.p_value)
    assert max(p_values[1]) < 0.01 < np.median(p_values[0])


@pytest.mark.parametrize(
    ("setting", "value"),
    [("neighbours", 5), ("stride", 2), ("representation", "log3 image"), ("scaling", None)],
)
def test_settings_of_other_detectors_are_refused(setting, value, reference):
    with pytest.raises(SettingError, match=rf"no setting '{setting}', which is one of the paper's"):
        smkc.Detector(**{setting: value}).fit(reference)


def test_input_that_makes_no_sense_is_named(reference):
    with pytest.raises(SettingError, match="window='long'"):
        smkc.Detector(window="long").fit(reference)
    with pytest.raises(InputError, match=r"10 rows.*at least"):
        smkc.Detector().fit(reference.rows(0, 10))
    stream = smkc.Detector().fit(reference).stream()
    with pytest.raises(InputError, match="twice"):
        stream.push(5000, {'a{x="1",y="2"}': 1.0, 'a{y="2",x="1"}': 2.0})
    with pytest.raises(InputError, match="is called 3"):
        stream.push(5000, {3: 1.0})


def test_an_empty_row_and_an_empty_recording_are_no_accident(detector, live):
    stream = detector.stream()
    stream.push(N_REFERENCE, live.row(0))
    assert np.isfinite(stream.push(N_REFERENCE + 1, {}))
    assert np.isfinite(stream.push(N_REFERENCE + 2, {"v0": None, "v1": float("inf")}))
    assert len(detector.decision_function(live.rows(0, 0))) == 0


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"counters": "always"}, r"counters='always' is not known; use 'auto' or None"),
        ({"window": 10**6}, r"window=1,000,000 is longer than the reference of 2,400 rows"),
        ({"contamination": 0.1}, r"no setting 'contamination'; use false_alarm_rate, which"),
        ({"false_alarm_rat": 0.1}, r"no setting 'false_alarm_rat'; use false_alarm_rate$"),
        ({"xyz": 0.1}, r"no setting 'xyz'; its settings are window, counters, identity"),
    ],
)
def test_settings_that_cannot_work_say_so(setting, told, reference):
    with pytest.raises(SettingError, match=told):
        smkc.Detector(**setting).fit(reference)


def test_variables_that_the_reference_does_not_know_are_said(rng):
    reference = {"cpu": rng.normal(size=300), 'rss{pod="a"}': rng.normal(size=300)}
    det = smkc.Detector(false_alarm_rate=0.05).fit(reference)
    strange = {"v0": rng.normal(size=100), "v1": rng.normal(size=100)}
    with pytest.warns(InputWarning, match="none of the 2 variables, such as 'v0', is in the ref"):
        det.decision_function(strange)
    det.decision_function({"cpu": rng.normal(size=50), "v1": rng.normal(size=50)})  # shares one
    det.decision_function({'rss{pod="b"}': rng.normal(size=50)})  # shares a family
