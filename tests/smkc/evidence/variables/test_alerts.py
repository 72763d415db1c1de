"""What the default detector makes of faults of single variables, at its default rate."""

import numpy as np
import pytest

import smkc
from smkc.evidence.settings import SETTINGS
from smkc.recording import Recording

# Long enough for the default rate of false alarms to be known: nothing warns.
N_REFERENCE = 2400

# Far below every p-value that a reference can tell of.
CERTAIN = 1e-30

# A fault is held by means over 16 rows and windows of 8.
HELD_ROWS = 24


def recording(values, first=0, names=None):
    names = names or [f"v{j:04d}" for j in range(values.shape[1])]
    rows, codes = np.nonzero(~np.isnan(values))
    times = np.arange(first, first + len(values))
    return Recording.from_observations(times, rows, codes, values[rows, codes], tuple(names))


def alerts_of(values, n_reference, names=None):
    """Learn from the first rows; return the alerts of the others, counted from there."""
    detector = smkc.Detector().fit(recording(values[:n_reference], 0, names))
    return detector.alerts(recording(values[n_reference:], n_reference, names))


def spans(alerts):
    return [(alert.first_row, alert.last_row) for alert in alerts]


def autoregressive(rng, n, n_columns, memory):
    values = rng.normal(size=(n, n_columns))
    for t in range(1, n):
        values[t] = memory * values[t - 1] + np.sqrt(1 - memory**2) * values[t]
    return values


@pytest.fixture(scope="module")
def detector():
    """Return a detector that learned from 20 variables."""
    rng = np.random.default_rng(1)
    return smkc.Detector().fit(recording(rng.normal(size=(N_REFERENCE, 20))))


@pytest.fixture
def live(rng):
    """Return rows to plant faults in; nothing in them alerts."""
    return rng.normal(size=(1000, 20))


def judged(detector, values):
    return detector.alerts(recording(values, N_REFERENCE))


# ------------------------------------------------------------------ found


@pytest.mark.filterwarnings("ignore::smkc.errors.CalibrationWarning")
@pytest.mark.parametrize(
    "n_columns", [1000, pytest.param(2000, marks=pytest.mark.slow)], ids=["1,000", "2,000"]
)
def test_one_shifted_variable_among_many_is_alerted_and_named(rng, n_columns):
    values = rng.normal(size=(1400, n_columns))
    values[1200:1300, 7] += 8.0
    (alert,) = alerts_of(values, 1000)
    assert 200 <= alert.first_row < 216, "within a long mean"
    assert 299 <= alert.last_row < 300 + HELD_ROWS
    assert alert.causes[0].variable == "v0007"
    assert alert.p_value < 1e-3


@pytest.mark.filterwarnings("ignore::smkc.errors.CalibrationWarning")
@pytest.mark.parametrize("seed", range(8))
def test_one_shifted_count_among_seasonal_ones_is_found(seed):
    rng = np.random.default_rng(seed)
    n, n_columns = 6 * 7 * 24, 160
    hours = np.arange(n + 400)[:, None]
    season = 1 + 0.6 * np.sin(2 * np.pi * hours / 24 + rng.uniform(0, 2 * np.pi, n_columns))
    values = rng.poisson(rng.uniform(5, 50, n_columns) * season).astype(float)
    values[n + 200 : n + 300, 11] += np.round(8 * values[:n, 11].std())
    alerts = alerts_of(values, n)
    (alert,) = [alert for alert in alerts if alert.first_row == 200]
    assert 299 <= alert.last_row < 300 + HELD_ROWS
    assert alert.causes[0].variable == "v0011"
    assert len(alerts) <= 2, "one false alert in 300 rows may be"


@pytest.mark.parametrize("n_columns", [1, 2])
def test_a_variable_that_stands_still_is_found(rng, n_columns):
    values = rng.normal(size=(N_REFERENCE + 800, n_columns))
    values[N_REFERENCE + 500 : N_REFERENCE + 600, 0] = values[N_REFERENCE + 500, 0]
    found = [alert for alert in alerts_of(values, N_REFERENCE) if alert.last_row >= 500]
    assert len(found) == 1
    assert 500 < found[0].first_row < 530
    assert 599 <= found[0].last_row < 600 + HELD_ROWS
    assert (found[0].causes[0].variable, found[0].causes[0].kind) == ("v0000", "frozen")


def test_half_of_the_variables_silent_at_once_is_alerted_until_they_are_back(detector, live):
    live[500:560, ::2] = np.nan
    (alert,) = judged(detector, live)
    assert alert.first_row in (500, 501)
    assert 559 <= alert.last_row < 560 + HELD_ROWS
    p_values = detector.p_values(recording(live, N_REFERENCE))
    assert p_values[501:560].max() < CERTAIN, "from the second row on"
    assert p_values[560:].min() > CERTAIN


# ------------------------------------------------------------------ constants


def with_constant(rng, name):
    values = rng.normal(size=(N_REFERENCE + 300, 6))
    values[:, 5] = 1.0
    values[N_REFERENCE + 100 : N_REFERENCE + 150, 5] = 0.0
    names = ["a", "b", "c", "d", "e", name]
    detector = smkc.Detector().fit(recording(values[:N_REFERENCE], 0, names))
    live = recording(values[N_REFERENCE:], N_REFERENCE, names)
    return detector.alerts(live), detector.p_values(live)


def test_many_silent_variables_begin_another_alert_while_one_is_open(detector, live):
    live[300:500, 3] += 30.0
    live[400:440, 10:] = np.nan
    first, second = judged(detector, live)
    assert (first.first_row, first.causes[0].variable) == (300, "v0003")
    assert 400 <= second.first_row <= 400 + SETTINGS.silent_rows
    assert second.causes[0].kind == "presence"


@pytest.mark.parametrize("name", ["up", 'up{job="node"}'])
def test_a_target_that_is_down_is_alerted(rng, name):
    (alert,), p_values = with_constant(rng, name)
    assert alert.first_row == 100
    assert 149 <= alert.last_row < 150 + HELD_ROWS
    assert alert.causes[0].variable == name
    assert p_values[100:150].max() < CERTAIN
    assert np.delete(p_values, np.s_[100:150]).min() > CERTAIN


def test_another_constant_that_moves_is_never_certain(rng):
    _, p_values = with_constant(rng, "replicas")
    assert p_values.min() > CERTAIN


# ------------------------------------------------------------------ a new normal, and repetition


@pytest.mark.parametrize("shift", [4.0, 8.0, 30.0])
def test_a_permanent_shift_closes_its_alert(detector, live, shift):
    live[300:, 4] += shift
    (alert,) = judged(detector, live)
    assert 300 <= alert.first_row < 310
    assert (
        300 + SETTINGS.lasting_rows - 5 <= alert.last_row < 300 + SETTINGS.lasting_rows + HELD_ROWS
    )


def test_a_muted_variable_does_not_mute_another(detector, live):
    live[200:, 4] += 8.0
    live[800:850, 9] += 8.0
    first, second = judged(detector, live)
    assert first.causes[0].variable == "v0004"
    assert 800 <= second.first_row < 805
    assert second.causes[0].variable == "v0009"


def test_repeated_faults_of_one_variable_do_not_silence_another(detector, rng):
    live = rng.normal(size=(4600, 20))
    for k in range(20):
        live[200 * k + 100 : 200 * k + 110, 4] += 8.0
    live[4300:4350, 9] += 8.0
    found = judged(detector, live)
    other = [alert for alert in found if alert.last_row >= 4300]
    assert len(other) == 1
    assert 4300 <= other[0].first_row < 4305
    assert other[0].causes[0].variable == "v0009"
    assert spans(found)[0][0] in range(100, 105)


def test_many_faults_do_not_silence_the_detector_for_a_blatant_one(detector, rng):
    live = rng.normal(size=(4600, 20))
    for k in range(42):
        live[100 * k + 50 : 100 * k + 60, rng.integers(20)] += 8.0
    live[4300:4350] += 8.0
    found = [alert for alert in judged(detector, live) if alert.last_row >= 4300]
    assert len(found) == 1
    assert 4300 <= found[0].first_row < 4303
    assert found[0].p_value < 1e-4


def test_what_a_person_calls_normal_is_muted(detector, live):
    live[300:, 4] += 8.0
    rows = recording(live, N_REFERENCE)
    waiting, told = detector.stream(), detector.stream()
    for stream in (waiting, told):
        stream.push_rows(rows.rows(0, 350))
    told.accept(300, 350)
    left = waiting.push_rows(rows.rows(350, 450))
    joined = told.push_rows(rows.rows(350, 450))
    assert (left.p_values < detector.false_alarm_rate).all()
    assert (joined.p_values > 10 * detector.false_alarm_rate).all()
    assert (joined.scores < left.scores).all()


@pytest.mark.parametrize("seed", range(4))
def test_what_was_not_loud_in_accepted_rows_keeps_its_say(detector, seed):
    live = np.random.default_rng(seed).normal(size=(500, 20))
    live[300:, 4] += 8.0
    live[380:430, 9] += 8.0
    rows = recording(live, N_REFERENCE)
    stream = detector.stream()
    stream.push_rows(rows.rows(0, 350))
    stream.accept(300, 350)
    p_values = stream.push_rows(rows.rows(350, 500)).p_values
    assert (p_values[:30] > 0.001).all()
    assert (p_values[44:80] < 0.001).all()


# ------------------------------------------------------------------ false alarms


@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_normal_rows_raise_no_more_alerts_than_asked_for(memory):
    rng = np.random.default_rng(3)
    values = autoregressive(rng, N_REFERENCE + 20_000, 50, memory)
    detector = smkc.Detector().fit(recording(values[:N_REFERENCE]))
    live = recording(values[N_REFERENCE:], N_REFERENCE)
    assert len(detector.alerts(live, explain=False)) <= 20
