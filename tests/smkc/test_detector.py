import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests import worlds
from tests.golden import write_scores

from smkc.errors import NotFittedError, UnscoredWarning, WindowError
from smkc.paper import KnnDetector
from smkc.recording import Identity

SMALL = {"window": 16, "neighbours": 5, "components": 32, "false_alarm_rate": 0.05}
GOLDEN = Path(write_scores.__file__).with_name("scores.json")

# The paper's scaling table; windows of 64 rows there, of 16 here.
PAPERS = [
    "full image",
    "log3 image",
    "log3 band(8)",
    "log3 band(4)",
    "log3 anchor(16)",
    "log3 anchor(8)",
    "full proj(128) image",
    "full proj(64) image",
    "full down(8) image",
    "base2 image",
    "cos3 image",
    "seq",
]


@pytest.fixture(scope="module")
def table():
    return worlds.spiked()


@pytest.fixture(scope="module")
def reference(table):
    return worlds.recording_of(table[:400])


@pytest.fixture(scope="module")
def live(table):
    return worlds.recording_of(table[400:], first_time=400)


@pytest.fixture(scope="module")
def det(reference):
    return KnnDetector(**SMALL).fit(reference)


# ---------------------------------------------------------------------- judging


def test_scores_of_windows_and_of_steps(det, live):
    windows = det.score_windows(live)
    assert len(windows) == len(live) - 15
    np.testing.assert_array_equal(windows.start, live.times[:-15])
    np.testing.assert_array_equal(windows.end, live.times[15:])
    np.testing.assert_array_equal(windows.last_row, windows.first_row + 15)
    prompt = det.decision_function(live, align="prompt")
    assert np.isnan(prompt[:15]).all()
    np.testing.assert_array_equal(prompt[15:], windows.score)
    sharp = det.decision_function(live)
    assert sharp.shape == (len(live),)
    assert (sharp[15:] >= prompt[15:]).all()
    assert sharp[200] == windows.score[185:201].max()


def test_predict_marks_the_rows_of_alerts_and_no_others(det, live):
    labels = det.predict(live)
    assert labels.dtype == np.int64
    expected = np.zeros(len(live), np.int64)
    for alert in det.alerts(live, explain=False):
        expected[alert.first_row : alert.last_row + 1] = 1
    np.testing.assert_array_equal(labels, expected)
    assert labels[200] == 1
    assert labels.mean() < 0.3


def test_the_spike_raises_an_alert_with_its_cause(det, live):
    alerts = [alert for alert in det.alerts(live) if alert.start <= 600 <= alert.end]
    assert len(alerts) == 1
    assert alerts[0].causes[0].variable == "v002"
    assert alerts[0].causes[0].kind == "level"
    assert alerts[0].start <= alerts[0].peak <= alerts[0].end
    assert alerts[0].p_value < 0.05
    assert live.times[alerts[0].first_row] == alerts[0].start
    assert list(alerts[0].causes) == det.explain(live, alerts[0].start, alerts[0].end)
    (bare,) = [a for a in det.alerts(live, explain=False) if a.start == alerts[0].start]
    assert bare.causes == ()
    assert bare.with_causes(list(alerts[0].causes)) == alerts[0]


def test_alerts_cover_every_step_past_the_threshold(det, live):
    covered = np.zeros(len(live), int)
    for alert in det.alerts(live, explain=False):
        covered[alert.first_row : alert.last_row + 1] = 1
    assert covered[det.decision_function(live) > det.threshold_].all()


def test_explaining_one_moment(det, live):
    assert det.explain(live, 600)[0].variable == "v002"


@pytest.mark.parametrize("times", [(2000,), (500, 450), (5000, 6000)])
def test_explaining_where_there_is_nothing(det, live, times):
    with pytest.raises(WindowError, match=r"no row between.*choose times between 400 and 699"):
        det.explain(live, *times)


def test_anything_that_can_be_read_can_be_judged(det, table, live):
    columns = {"time": np.arange(400, 700), **dict(zip(live.names, table[400:].T, strict=True))}
    np.testing.assert_array_equal(det.decision_function(columns), det.decision_function(live))


def test_a_stride_leaves_windows_out(reference, live):
    every = KnnDetector(**SMALL, align="prompt").fit(reference)
    fifth = KnnDetector(**SMALL, align="prompt", stride=5).fit(reference)
    windows = fifth.score_windows(live)
    np.testing.assert_array_equal(windows.first_row, np.arange(0, 285, 5))
    assert len(every.score_windows(live)) == 285
    for align in ("sharp", "prompt"):
        steps = fifth.decision_function(live, align=align)
        assert steps.shape == (len(live),)
        assert np.isfinite(steps[15:]).all()
    assert [a.causes[0].variable for a in fifth.alerts(live) if a.start <= 610][-1:] == ["v002"]


@pytest.mark.parametrize("representation", PAPERS)
def test_every_representation_of_the_paper(reference, live, representation):
    det = KnnDetector(**SMALL, representation=representation).fit(reference)
    scores = det.decision_function(live)
    assert np.isfinite(scores).all()
    assert ((scores >= 0) & (scores <= 2)).all()
    assert np.isfinite(det.threshold_)
    assert det.explain(live, 600)


@pytest.mark.parametrize(
    "settings",
    [
        {"scaling": None},
        {"presence": False},
        {"saturate": False},
        {"normalise": False},
        {"buckets": 1},
        {"components": 1},
        {"neighbours": 1},
        {"counters": None},
        {"align": "prompt"},
        {"reference_size": 20},
        {"seed": 2**40},
    ],
)
def test_every_setting_scores(reference, live, settings):
    det = KnnDetector(**{**SMALL, **settings}).fit(reference)
    assert np.isfinite(det.score_windows(live).score).all()
    assert set(np.unique(det.predict(live))) <= {0, 1}


def test_the_golden_run():
    stored = json.loads(GOLDEN.read_text(encoding="ascii"))
    found = write_scores.scored(stored["rows"])
    expected = stored["found"]
    np.testing.assert_allclose(found["score"], expected["score"], atol=2e-6)
    np.testing.assert_allclose(found["p_value"], expected["p_value"], rtol=1e-3, atol=1e-6)
    assert found["threshold"] == pytest.approx(expected["threshold"], abs=2e-6)
    assert found["alerts"] == expected["alerts"]


# ---------------------------------------------------------------------- churn


def renamed(recording):
    return recording.rename({"v001": "something else"})


def without(recording):
    return recording.select(["v000", "v003"])


def with_more(recording):
    rng = np.random.default_rng(3)
    names = [*recording.names, *(f"new{j}" for j in range(30))]
    table = np.stack([recording.trace(name) for name in recording.names], axis=1)
    more = rng.normal(size=(len(table), 30))
    more[: len(table) // 2, ::2] = np.nan
    return worlds.recording_of(np.concatenate([table, more], axis=1), names, 400)


def all_new(recording):
    return recording.rename(lambda name: f"{name}.of.tomorrow")


@pytest.mark.parametrize("change", [renamed, without, with_more, all_new])
@pytest.mark.parametrize("scaling", ["robust", None])
def test_churn_needs_no_refit(reference, live, change, scaling):
    det = KnnDetector(**SMALL, scaling=scaling).fit(reference)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changed = change(live)
        assert np.isfinite(det.decision_function(changed)).all()
        det.alerts(changed)
        det.explain(changed, 600)


def test_a_rename_without_collisions_changes_no_score_if_unscaled(reference, live):
    det = KnnDetector(**SMALL, scaling=None).fit(reference)
    actual = det.score_windows(renamed(live)).score
    np.testing.assert_allclose(actual, det.score_windows(live).score, atol=1e-5)


def test_families_scale_a_newcomer(rng):
    pods = [f'load{{pod="{name}"}}' for name in "abc"]
    table = 100 * worlds.coupled(rng, 700, 3)
    det = KnnDetector(**SMALL).fit(worlds.recording_of(table[:600], pods))
    moved = worlds.recording_of(table[600:], [*pods[:2], 'load{pod="z"}'], 600)
    known = worlds.recording_of(table[600:], pods, 600)
    actual, expected = det.score_windows(moved).score, det.score_windows(known).score
    assert np.abs(actual - expected).mean() < 0.1 * expected.mean()


def test_identity_rules_make_families(rng):
    names = ["web-1-cpu", "web-2-cpu"]
    table = 100 * worlds.coupled(rng, 700, 2)
    rule = Identity(pattern=r"-(\w+)$")
    det = KnnDetector(**SMALL, identity=rule).fit(worlds.recording_of(table[:600], names))
    assert det.fitted_.scaling.identity == rule
    live = worlds.recording_of(table[600:], ["web-1-cpu", "web-9-cpu"], 600)
    same = worlds.recording_of(table[600:], names, 600)
    assert np.abs(det.score_windows(live).score - det.score_windows(same).score).mean() < 0.05


# ---------------------------------------------------------------------- unscored windows


def test_windows_with_little_in_them_are_nan_and_said_so(det, table):
    gap = table[400:].copy()
    gap[100:150] = np.nan
    recording = worlds.recording_of(gap, first_time=400)
    with pytest.warns(UnscoredWarning, match=r"of 285 windows.*50%.*coarser step.*least_filled"):
        windows = det.score_windows(recording)
    filled = [np.isfinite(gap[a : a + 16]).any(axis=1).mean() for a in windows.first_row]
    np.testing.assert_array_equal(np.isnan(windows.score), np.array(filled) < 0.5)
    np.testing.assert_array_equal(np.isnan(windows.p_value), np.isnan(windows.score))
    with pytest.warns(UnscoredWarning):
        steps = det.decision_function(recording)
    assert np.isnan(steps[120])
    assert np.isfinite(steps[[90, 160]]).all()
    with pytest.warns(UnscoredWarning):
        assert det.predict(recording)[120] == 0
    with pytest.warns(UnscoredWarning), pytest.raises(WindowError, match="no window with a score"):
        det.explain(recording, 525)


# ---------------------------------------------------------------------- learning


def test_fit_is_repeatable_and_the_seed_matters(reference, live, det):
    again = KnnDetector(**SMALL).fit(reference, y=None)
    np.testing.assert_array_equal(again.decision_function(live), det.decision_function(live))
    assert again.threshold_ == det.threshold_
    other = KnnDetector(**SMALL, seed=1).fit(reference)
    assert not np.array_equal(other.decision_function(live), det.decision_function(live))


def test_partial_fit_is_bounded_repeatable_and_learns(table):
    def learned():
        det = KnnDetector(**SMALL, reference_size=100)
        for first in (0, 150, 300):
            part = table[first : first + 150]
            assert det.partial_fit(worlds.recording_of(part, first_time=first)) is det
        return det

    one, other = learned(), learned()
    assert len(one.fitted_.density.references) == 100
    assert one.fitted_.density.references.seen == 3 * 135
    np.testing.assert_array_equal(
        one.fitted_.density.references.vectors, other.fitted_.density.references.vectors
    )
    assert one.threshold_ == other.threshold_
    assert len(one.fitted_.of_windows.null) > len(
        KnnDetector(**SMALL).fit(worlds.recording_of(table[:150])).fitted_.of_windows.null
    )


def test_partial_fit_makes_a_new_behaviour_normal(rng):
    calm, wild = worlds.coupled(rng, 800, 3), worlds.coupled(rng, 800, 3, memory=0.2)
    det = KnnDetector(**SMALL).fit(worlds.recording_of(calm))
    live = worlds.recording_of(wild[400:], first_time=400)
    before = np.median(det.score_windows(live).score)
    det.partial_fit(worlds.recording_of(wild[:400]))
    assert np.median(det.score_windows(live).score) < before


def test_partial_fit_settles_new_variables(det, reference, table):
    det = KnnDetector(**SMALL).fit(reference)
    names = ["v000", "v001", "v002", "fresh"]
    det.partial_fit(worlds.recording_of(table[400:550], names, 400))
    assert "fresh" in det.fitted_.scaling.names
    assert "v003" in det.fitted_.scaling.names


def test_a_failed_fit_leaves_what_was_learned(reference, live):
    det = KnnDetector(**SMALL).fit(reference)
    expected = det.decision_function(live)
    with pytest.raises(WindowError):
        det.fit(reference.rows(0, 10))
    with pytest.raises(WindowError):
        det.partial_fit(reference.rows(0, 10))
    np.testing.assert_array_equal(det.decision_function(live), expected)


def test_scores_of_the_reference_data(det, reference):
    scores, labels = det.decision_scores_, det.labels_
    assert scores.shape == labels.shape == (len(reference),)
    np.testing.assert_array_equal(labels, scores > det.threshold_)
    assert labels.mean() <= 0.1
    # the block around a window is left out, so that reference data look like any other normal data
    assert np.median(scores) > np.median(det.decision_function(reference))


def test_reference_scores_are_not_kept_forever(reference):
    det = KnnDetector(**SMALL).partial_fit(reference).partial_fit(reference)
    with pytest.raises(NotFittedError, match="decision_function"):
        _ = det.decision_scores_


def test_before_fitting(live):
    det = KnnDetector(**SMALL)
    assert not det.is_fitted
    for judge in (det.decision_function, det.predict, det.alerts, det.score_windows):
        with pytest.raises(NotFittedError, match="call fit first"):
            judge(live)
    with pytest.raises(NotFittedError, match="call fit first"):
        det.stream()
    with pytest.raises(NotFittedError, match="call fit first"):
        det.save("nowhere")
    assert not hasattr(det, "threshold_")
