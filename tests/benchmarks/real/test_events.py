import math
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.metrics import auprc, auroc
from benchmarks.real.events import (
    HOLD,
    Detection,
    detection,
    event_bounds,
    filled_scores,
    step_metrics,
)
from smkc.errors import InputError, SettingError


@st.composite
def truth_and_scores(draw):
    """Both kinds of step in runs, few distinct scores, now and then none."""
    lengths = draw(st.lists(st.integers(1, 12), min_size=2, max_size=10))
    first = draw(st.booleans())
    truth = np.concatenate([np.full(n, (i % 2 == 0) == first) for i, n in enumerate(lengths)])
    score = st.one_of(st.integers(0, 5).map(float), st.floats(-9, 9), st.just(math.nan))
    return truth, np.array(draw(st.lists(score, min_size=len(truth), max_size=len(truth))))


rates = st.sampled_from([0, 0.5, 1, 20, 50, 100, 400])


def naive_false_alarms(truth, is_alarmed, hold):
    """Count run by run."""
    total = 0
    for alarmed, steps in groupby(range(len(truth)), key=lambda t: is_alarmed[t]):
        run = list(steps)
        n_normal = sum(not truth[t] for t in run)
        if alarmed and n_normal == len(run):
            total += math.ceil(n_normal / hold)
        elif alarmed:
            total += math.floor(n_normal / hold)
    return total


def naive_detection(truth, scores, rate):
    """Try the thresholds from the highest down; count everything anew at each."""
    n = len(truth)
    n_unscored = sum(math.isnan(score) for score in scores)
    scores = [-math.inf if math.isnan(score) else score for score in scores]
    n_normal = n - sum(truth)
    allowed = 0 if rate == 0 else max(1, math.floor(rate * n_normal / 1000 + 1e-9))
    hold = max(1, min(HOLD, n_normal // 10))
    chosen, n_false = math.inf, 0
    for threshold in sorted(set(scores), reverse=True):
        count = naive_false_alarms(truth, [score >= threshold for score in scores], hold)
        if count > allowed:
            break
        chosen, n_false = threshold, count
    delays, n_events = [], 0
    for anomalous, steps in groupby(range(n), key=lambda t: truth[t]):
        event = list(steps)
        if anomalous:
            n_events += 1
            alarmed = [t - event[0] for t in event if chosen < math.inf and scores[t] >= chosen]
            delays += alarmed[:1]
    return Detection(
        threshold=chosen,
        recall=len(delays) / n_events,
        delay=float(np.median(delays)) if delays else math.nan,
        n_events=n_events,
        n_found=len(delays),
        n_false=n_false,
        n_allowed=allowed,
        n_unscored=n_unscored,
    )


def same(a, b):
    """Compare field by field; NaN equals NaN."""
    return repr(a) == repr(b)


@pytest.mark.parametrize(
    ("truth", "expected"),
    [
        ([0, 1, 1, 0, 1], [[1, 3], [4, 5]]),
        ([1, 1], [[0, 2]]),
        ([True, False, True], [[0, 1], [2, 3]]),
        ([0, 0], []),
    ],
)
def test_bounds(truth, expected):
    assert event_bounds(truth).tolist() == expected


def test_by_hand():
    # 1,000 normal steps and two events; one false alarm is allowed.
    truth = np.zeros(1010, bool)
    truth[100:104] = truth[500:506] = True
    scores = np.zeros(1010)
    scores[102] = 9  # the first event, two steps late
    scores[[300, 301]] = 8  # one false alarm of two steps
    scores[497:503] = 7  # starts before the second event and lasts into it: right, no delay
    scores[900] = 6  # a second false alarm: too many
    found = detection(truth, scores, false_alarms=1)
    assert found == Detection(
        threshold=7.0,
        recall=1.0,
        delay=1.0,  # median of 2 and 0
        n_events=2,
        n_found=2,
        n_false=1,
        n_allowed=1,
        n_unscored=0,
    )
    strict = detection(truth, scores, false_alarms=0)
    assert (strict.threshold, strict.recall, strict.delay) == (9.0, 0.5, 2.0)
    assert detection(truth, scores, false_alarms=2).n_false == 2


def test_a_long_alarm_is_raised_anew():
    truth = np.zeros(5010, bool)
    truth[2000:2010] = True
    for length, n_false in ((1, 1), (HOLD, 1), (HOLD + 1, 2), (3 * HOLD, 3)):
        apart = np.zeros(5010)
        apart[:length] = 1
        assert detection(truth, apart).n_false == n_false
    for length, n_false in ((1, 0), (HOLD - 1, 0), (HOLD, 1), (3 * HOLD, 3)):
        lingering = np.zeros(5010)
        lingering[2009 : 2010 + length] = 1
        found = detection(truth, lingering)
        assert (found.n_false, found.recall, found.delay) == (n_false, 1.0, 9.0)


@pytest.mark.parametrize("n", [12, 30, 150, 1000, 4000])
def test_alarming_always_finds_nothing(n):
    truth = np.zeros(n, bool)
    truth[n // 2 : n // 2 + 3] = True
    found = detection(truth, np.ones(n))
    assert (found.threshold, found.recall, found.n_found) == (math.inf, 0.0, 0)
    assert math.isnan(found.delay)


def test_runs_that_grow_together_buy_nothing_back():
    # At 2 three false alarms, one more than allowed; at 1 they are a single run of 50 steps.
    truth = np.zeros(2010, bool)
    truth[1000:1010] = True
    scores = np.zeros(2010)
    scores[100:150] = 1
    scores[[100, 120, 140]] = 2
    scores[1005] = 1
    found = detection(truth, scores)
    assert (found.n_allowed, found.threshold, found.recall) == (2, math.inf, 0.0)


def test_perfect_scores():
    truth = np.isin(np.arange(300), [5, 6, 80, 299])
    found = detection(truth, truth.astype(float), false_alarms=0)
    assert (found.recall, found.delay, found.n_events, found.n_false) == (1.0, 0.0, 3, 0)


@given(truth_and_scores(), rates)
def test_against_the_naive_twin(case, rate):
    truth, scores = case
    expected = naive_detection(truth.tolist(), scores.tolist(), rate)
    assert same(detection(truth, scores, false_alarms=rate), expected)


@given(truth_and_scores(), rates)
def test_more_false_alarms_find_no_fewer_events(case, rate):
    truth, scores = case
    less, more = (detection(truth, scores, false_alarms=r) for r in (rate, 2 * rate))
    assert less.recall <= more.recall
    assert less.threshold >= more.threshold
    assert less.n_false <= less.n_allowed


@given(truth_and_scores(), rates)
def test_only_ranks_matter(case, rate):
    truth, scores = case
    found = detection(truth, scores, false_alarms=rate)
    moved = detection(truth, 8 * scores, false_alarms=rate)  # exact in floats
    assert (found.recall, found.n_false) == (moved.recall, moved.n_false)
    assert same(found.delay, moved.delay)
    assert step_metrics(truth, scores) == step_metrics(truth, 8 * scores)


@given(truth_and_scores())
def test_steps_without_a_score_come_last(case):
    truth, scores = case
    worst = np.where(np.isnan(scores), -100.0, scores)
    metrics = step_metrics(truth, scores)
    assert metrics.auprc == auprc(truth, worst)
    assert metrics.auroc == auroc(truth, worst)
    assert metrics.n_unscored == np.isnan(scores).sum()


def test_filled():
    filled, n_missing = filled_scores([np.nan, 2, -np.inf])
    assert filled.tolist() == [-np.inf, 2.0, -np.inf]
    assert n_missing == 1
    assert step_metrics([0, 1], [np.nan, np.nan]).auroc == 0.5


@pytest.mark.parametrize("metric", [detection, step_metrics])
@pytest.mark.parametrize(
    ("truth", "scores", "message"),
    [
        ([0, 0], [1, 2], "none of 2 time steps is anomalous.*both kinds"),
        ([1, 1], [1, np.nan], "none of 2 time steps is normal.*both kinds"),
        ([1, 0], [1, 2, 3], r"\(2,\) for scores of the shape \(3,\).*flat"),
        ([[1, 0]], [[1, 2]], r"\(1, 2\).*flat"),
        ([2, 0], [1, 2], "True or False"),
    ],
)
def test_what_cannot_be_measured(metric, truth, scores, message):
    with pytest.raises(InputError, match=message):
        metric(truth, scores)


@pytest.mark.parametrize("rate", [-1, math.nan, math.inf])
def test_no_rate(rate):
    with pytest.raises(SettingError, match="is no number of false alarms per 1,000 steps"):
        detection([0, 1], [0, 1], false_alarms=rate)
