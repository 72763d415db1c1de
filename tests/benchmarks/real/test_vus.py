import json
from itertools import pairwise
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.golden.vus import cases

from benchmarks.metrics import auprc, auroc
from benchmarks.real.vus import DEFINITIONS, vus_pr, vus_roc, window_length
from smkc.errors import InputError, SettingError

HERE = Path(cases.__file__).parent
GOLDEN = {
    name: json.loads((HERE / f"{name}.json").read_text(encoding="ascii")) for name in DEFINITIONS
}
GOLDEN_TOLERANCE = 1e-9
TOLERANCE = 1e-12


@st.composite
def truth_and_scores(draw):
    """Both kinds of step, few distinct scores, so that ties abound."""
    n = draw(st.integers(2, 40))
    truth = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda t: len(set(t)) == 2))
    score = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3))
    return np.array(truth), np.array(draw(st.lists(score, min_size=n, max_size=n)))


windows = st.integers(0, 25)
counts = st.sampled_from([2, 3, 10, 250])
definitions = st.sampled_from(DEFINITIONS)


def runs(flags):
    """Return first and last index of each run of truths."""
    found = []
    for t, flag in enumerate(flags):
        if flag and t and flags[t - 1]:
            found[-1][1] = t
        elif flag:
            found.append([t, t])
    return found


def naive_weights(truth, definition, length):
    """Return each step's weight, and the stretches in which one alarm finds an event."""
    n, half = len(truth), length // 2
    behind = half if definition == "tsb_ad" else half - 1
    weights, stretches = [float(flag) for flag in truth], []
    for start, end in runs(truth):
        for t in range(n):
            if start - half <= t < start:
                weights[t] += sqrt(1 - (start - t) / length)
            if end < t <= end + behind:
                weights[t] += sqrt(1 - (t - end) / length)
        stretches.append([max(start - half, 0), min(end + max(behind, 0), n - 1)])
    weights = [min(weight, 1.0) for weight in weights]
    if definition == "vldb22":
        return weights, runs([weight > 0 for weight in weights])
    joint = [stretches[0]]
    for start, end in stretches[1:]:
        if start <= joint[-1][1]:
            joint[-1][1] = end
        else:
            joint.append([start, end])
    return weights, joint


def naive_areas(truth, scores, definition, length, n_thresholds):
    """Walk over the thresholds, counting everything anew at each."""
    n, ranked = len(truth), sorted(scores, reverse=True)
    weights, stretches = naive_weights(truth, definition, length)
    curve = [(0.0, 1.0, 0.0)]  # recall, precision, false-positive rate
    for i in range(n_thresholds):
        threshold = ranked[int(i * ((n - 1) / (n_thresholds - 1)))] if n > 1 else ranked[0]
        alarmed = [t for t in range(n) if scores[t] >= threshold]
        weight = sum(weights[t] for t in alarmed)
        in_buffers = [t for t in range(n) if not truth[t]]
        if definition == "tsb_ad":
            in_buffers = [t for t in in_buffers if t in alarmed]
        due = sum(truth) + sum(weights[t] for t in in_buffers) / 2
        found = sum(any(a <= t <= b for t in alarmed) for a, b in stretches) / len(stretches)
        curve.append(
            (
                min(weight / due, 1.0) * found,
                weight / len(alarmed),
                (len(alarmed) - weight) / (n - due),
            )
        )
    pr = sum(
        (b[0] - a[0]) * (b[1] if definition == "tsb_ad" else (a[1] + b[1]) / 2)
        for a, b in pairwise(curve)
    )
    curve.append((1.0, 0.0, 1.0))
    return pr, sum((b[2] - a[2]) * (a[0] + b[0]) / 2 for a, b in pairwise(curve))


@pytest.mark.parametrize("name", cases.RECORDINGS)
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_golden(definition, name):
    truth, scores = cases.recording(name)
    expected = GOLDEN[definition]["recordings"][name]
    assert cases.digest(truth, scores) == expected["digest"], "the recipe gives other numbers"
    assert [int(window) for window in expected["windows"]] == list(cases.WINDOWS)
    for window in cases.WINDOWS:
        setting = {"definition": definition, "window": window}
        volumes = expected["windows"][str(window)]
        assert abs(vus_pr(truth, scores, **setting) - volumes["pr"]) < GOLDEN_TOLERANCE
        assert abs(vus_roc(truth, scores, **setting) - volumes["roc"]) < GOLDEN_TOLERANCE


@pytest.mark.parametrize("name", cases.PERIODIC)
def test_golden_window_lengths(name):
    expected = GOLDEN["tsb_ad"]["window_length"][name]
    assert cases.digest(cases.periodic(name)) == expected["digest"]
    assert window_length(cases.periodic(name)) == expected["length"]


def test_golden_definitions_differ():
    def volume(definition, name):
        return GOLDEN[definition]["recordings"][name]["windows"]["20"]["pr"]

    names = list(cases.RECORDINGS)
    assert max(abs(volume("tsb_ad", name) - volume("vldb22", name)) for name in names) > 0.1


def test_by_hand():
    # One anomalous step, the second; scores fall from the first step on, each its own threshold.
    truth, scores = [0, 1, 0, 0, 0], [4, 3, 2, 1, 0]
    r = sqrt(1 / 2)  # weight of a direct neighbour in a buffer of the length 2
    recall = r / (1 + r / 2)  # with the first step alarmed alone
    expected = (1 / 2 + 1 / 2 + recall * r + (1 - recall) * (1 + r) / 2) / 3
    assert vus_pr(truth, scores, definition="tsb_ad", window=2, thresholds=5) == pytest.approx(
        expected
    )
    expected = (1 / 4 + 1 / 4 + recall * (1 + r) / 2 + (1 - recall) * (r + (1 + r) / 2) / 2) / 3
    assert vus_pr(truth, scores, definition="vldb22", window=2, thresholds=5) == pytest.approx(
        expected
    )


@given(truth_and_scores(), definitions, windows, counts)
def test_against_the_naive_twin(case, definition, window, thresholds):
    truth, scores = case
    setting = {"definition": definition, "window": window, "thresholds": thresholds}
    areas = [
        naive_areas(truth.tolist(), scores.tolist(), definition, length, thresholds)
        for length in range(window + 1)
    ]
    expected_pr, expected_roc = np.mean(areas, axis=0)
    if definition == "vldb22" and len(set(scores.tolist())) == 1:
        expected_pr = expected_roc = 0.0
    assert vus_pr(truth, scores, **setting) == pytest.approx(expected_pr, abs=TOLERANCE)
    assert vus_roc(truth, scores, **setting) == pytest.approx(expected_roc, abs=TOLERANCE)


@given(truth_and_scores(), definitions, windows, counts)
def test_between_0_and_1_and_by_rank_alone(case, definition, window, thresholds):
    truth, scores = case
    ranks = np.unique(scores, return_inverse=True)[1]
    for volume in (vus_pr, vus_roc):
        setting = {"definition": definition, "window": window, "thresholds": thresholds}
        actual = volume(truth, scores, **setting)
        assert -TOLERANCE <= actual <= 1 + TOLERANCE
        assert volume(truth, 3 * ranks - 7.0, **setting) == actual
        assert volume(truth.astype(int), np.exp(ranks), **setting) == actual


@given(truth_and_scores(), windows)
def test_perfect_scores(case, window):
    truth, _ = case
    scores = truth.astype(float)
    assert vus_pr(truth, scores, definition="tsb_ad", window=window) == pytest.approx(1.0)
    assert vus_pr(truth, scores, definition="vldb22", window=1) == pytest.approx(1.0)
    assert vus_roc(truth, scores, definition="tsb_ad", window=1) == pytest.approx(1.0)


@given(truth_and_scores(), windows)
def test_time_reversed_is_the_same_to_tsb_ad_alone(case, window):
    truth, scores = case
    setting = {"definition": "tsb_ad", "window": window}
    backwards = vus_pr(truth[::-1], scores[::-1], **setting)
    assert backwards == pytest.approx(vus_pr(truth, scores, **setting), abs=TOLERANCE)
    # An alarm one step early has a buffer of the length 2 in either definition, one late in one.
    truth, early = np.array([0, 0, 1, 0, 0]), np.array([0, 1, 0, 0, 0])
    volumes = [
        vus_pr(truth, scores, definition="vldb22", window=2) for scores in (early, early[::-1])
    ]
    assert volumes[0] > volumes[1]


@given(st.data())
def test_one_event_without_buffer_is_the_plain_area(data):
    n = data.draw(st.integers(2, 30))
    start = data.draw(st.integers(0, n - 1))
    end = data.draw(st.integers(start + 1, n if start else n - 1))
    truth = (np.arange(n) >= start) & (np.arange(n) < end)
    scores = np.array(data.draw(st.permutations(range(n))), float)
    setting = {"definition": "tsb_ad", "window": 0, "thresholds": n}
    assert vus_pr(truth, scores, **setting) == pytest.approx(auprc(truth, scores), abs=TOLERANCE)
    assert vus_roc(truth, scores, **setting) == pytest.approx(auroc(truth, scores), abs=TOLERANCE)


def test_constant_scores():
    truth = np.arange(50) < 5
    assert vus_pr(truth, np.ones(50), definition="tsb_ad", window=0) == pytest.approx(0.1)
    assert vus_pr(truth, np.ones(50), definition="vldb22", window=10) == 0.0
    assert vus_roc(truth, np.ones(50), definition="vldb22", window=10) == 0.0


def test_infinite_scores_are_ranked():
    truth, scores = np.array([0, 1, 1, 0, 0, 0]), np.array([2.0, 5, 1, 4, 0, 0])
    infinite = np.array([2.0, np.inf, 1, 4, -np.inf, -np.inf])
    for definition in DEFINITIONS:
        setting = {"definition": definition, "window": 3}
        assert vus_pr(truth, infinite, **setting) == vus_pr(truth, scores, **setting)


@pytest.mark.parametrize("volume", [vus_pr, vus_roc])
@pytest.mark.parametrize(
    ("truth", "scores", "message"),
    [
        ([0, 0], [1, 2], "none of 2 time steps is anomalous.*both kinds"),
        ([1, 1], [1, 2], "none of 2 time steps is normal.*both kinds"),
        ([], [], "none of 0 time steps is anomalous"),
        ([1, 0, 0], [1, np.nan, np.nan], "2 of 3 scores are NaN, the first at time step 1.*filled"),
        ([1, 0], [1, 2, 3], r"\(2,\) for scores of the shape \(3,\).*flat"),
        ([-1, 3], [1, 2], "True or False"),
    ],
)
def test_what_cannot_be_measured(volume, truth, scores, message):
    with pytest.raises(InputError, match=message):
        volume(truth, scores, definition="tsb_ad", window=3)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"definition": "vus"}, "'vus' is not known; choose one of tsb_ad, vldb22"),
        ({"window": -1}, "window=-1 is no buffer length"),
        ({"window": 2.5}, "window=2.5 is no buffer length"),
        ({"window": np.nan}, "window=nan is no buffer length"),
        ({"thresholds": 1}, "thresholds=1 make no curve; use 2 or more, such as 250"),
    ],
)
def test_settings(setting, message):
    with pytest.raises(SettingError, match=message):
        vus_pr([0, 1], [1, 2], **{"definition": "vldb22", "window": 3, **setting})


def test_no_period():
    with pytest.raises(InputError, match=r"\(3, 2\) show no period; give one variable's"):
        window_length(np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"2 of 4 values are no finite.*fill the gaps"):
        window_length([1.0, np.nan, 2.0, np.inf])
