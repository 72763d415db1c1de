import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.metrics import METRICS, auprc, auroc, tpr_at_fpr
from smkc.errors import InputError, SettingError

TOLERANCE = 1e-12

# Ranked: + - + + - -, by hand.
TRUTH = [0, 1, 1, 0, 1, 0]
SCORES = [1.0, 4.0, 6.0, 5.0, 3.0, 2.0]


@st.composite
def truth_and_scores(draw):
    """Both kinds of window, few distinct scores, so that ties abound."""
    n = draw(st.integers(2, 40))
    truth = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda t: len(set(t)) == 2))
    score = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
    return np.array(truth), np.array(draw(st.lists(score, min_size=n, max_size=n)))


def test_by_hand():
    assert auprc(TRUTH, SCORES) == pytest.approx((1 / 1 + 2 / 3 + 3 / 4) / 3)
    assert auroc(TRUTH, SCORES) == pytest.approx((3 + 2 + 2) / 9)
    assert tpr_at_fpr(TRUTH, SCORES, 0.0) == pytest.approx(1 / 3)
    assert tpr_at_fpr(TRUTH, SCORES, 1 / 3) == 1.0


def test_ties_by_hand():
    # Scores 2 2 1 1 with + - + -: at 2 precision 1/2 and recall 1/2, at 1 precision 1/2, recall 1.
    truth, scores = [1, 0, 1, 0], [2, 2, 1, 1]
    assert auprc(truth, scores) == 0.5
    assert auroc(truth, scores) == 0.5
    assert tpr_at_fpr(truth, scores, 0.49) == 0.0
    assert tpr_at_fpr(truth, scores, 0.5) == 0.5


def test_best_and_worst():
    truth = np.arange(200) < 20
    for metric in METRICS.values():
        assert metric(truth, truth.astype(float)) == 1.0
    assert auroc(truth, -truth.astype(float)) == 0.0
    assert METRICS["tpr_at_1pct_fpr"](truth, -truth.astype(float)) == 0.0
    assert auprc(truth, np.zeros(200)) == 0.1  # nothing told apart: the share of anomalies


def test_rate_that_is_exactly_reached_counts():
    # 7 of 100 normal windows lie above the one anomalous window; 0.07 * 100 > 7 in floats.
    truth = np.arange(101) == 7
    scores = -np.arange(101.0)
    assert tpr_at_fpr(truth, scores, 0.07) == 1.0
    assert tpr_at_fpr(truth, scores, 0.069) == 0.0


@given(truth_and_scores())
def test_like_scikit_learn(case):
    truth, scores = case
    assert auprc(truth, scores) == pytest.approx(
        average_precision_score(truth, scores), abs=TOLERANCE
    )
    assert auroc(truth, scores) == pytest.approx(roc_auc_score(truth, scores), abs=TOLERANCE)


@given(truth_and_scores(), st.sampled_from([0.0, 0.01, 0.1, 0.25, 1 / 3, 0.5, 1.0]))
def test_rate_over_all_thresholds(case, fpr):
    truth, scores = case
    best = 0.0
    for threshold in [*scores.tolist(), np.inf]:
        if np.mean(scores[~truth] >= threshold) <= fpr:
            best = max(best, np.mean(scores[truth] >= threshold))
    assert tpr_at_fpr(truth, scores, fpr) == best


@given(truth_and_scores(), st.randoms(use_true_random=False))
def test_order_of_windows_does_not_matter(case, random):
    truth, scores = case
    order = list(range(len(truth)))
    random.shuffle(order)
    for metric in METRICS.values():
        assert metric(truth, scores) == metric(truth[order], scores[order])


def test_names():
    assert tuple(METRICS) == ("auprc", "auroc", "tpr_at_1pct_fpr")


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
@pytest.mark.parametrize(
    ("truth", "scores", "message"),
    [
        ([0, 0], [1, 2], "none of 2 windows is anomalous.*both kinds"),
        ([1, 1], [1, 2], "none of 2 windows is normal.*both kinds"),
        ([], [], "none of 0 windows is anomalous"),
        ([1, 0, 0], [1, np.nan, np.nan], "2 of 3 scores are NaN, the first at window 1.*mend"),
        ([1, 0], [1, 2, 3], r"\(2,\) for scores of the shape \(3,\).*flat"),
        ([[1, 0]], [[1, 2]], r"\(1, 2\).*flat"),
        ([-1, 3], [1, 2], "True or False.*compare kinds"),
    ],
)
def test_what_cannot_be_measured(metric, truth, scores, message):
    with pytest.raises(InputError, match=message):
        metric(truth, scores)


@pytest.mark.parametrize("fpr", [-0.1, 1.5, np.nan])
def test_no_rate(fpr):
    with pytest.raises(SettingError, match=r"no rate; choose one from 0 to 1"):
        tpr_at_fpr([1, 0], [1, 2], fpr)
