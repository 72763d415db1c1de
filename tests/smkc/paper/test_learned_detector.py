"""The detector with networks inside: what holds without training holds with it."""

import sys

import numpy as np
import pytest
import torch
from sklearn.base import clone
from tests import promise, worlds

import smkc
from smkc.errors import (
    InputError,
    MissingExtraError,
    ModelFileError,
    NotFittedError,
    SettingError,
    WindowError,
)
from smkc.loading import make_detector
from smkc.paper import ReconDetector

pytestmark = pytest.mark.deep

# Scores are in spreads of normal windows, some units for a normal one. A window alone is summed in
# another order than in a batch, and a GPU sums in an order of its own.
TOLERANCE = 1e-3
GPU_TOLERANCE = 0.05

TINY = {
    "width": 16,
    "layers": 1,
    "heads": 2,
    "expansion": 2,
    "stem_width": 8,
    "n_masks": 2,
    "decoder_layers": 1,
    "predictor_layers": 1,
    "batch_size": 32,
}
SMALL = {
    "window": 16,
    "neighbours": 5,
    "buckets": 32,
    "false_alarm_rate": 0.1,
    "epochs": 2,
    "learn": TINY,
}
KINDS = ["recon", "prediction", "ensemble"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    values = worlds.coupled(rng, 1300, 4)
    worlds.spike(rng, values, 1200, 2)
    return values


@pytest.fixture(scope="module")
def reference(table):
    return worlds.recording_of(table[:1000])


@pytest.fixture(scope="module")
def live(table):
    return worlds.recording_of(table[1000:], first_time=1000)


@pytest.fixture(scope="module")
def fitted(reference):
    """One detector of each kind, fitted."""
    return {kind: make_detector({"detector": kind, **SMALL}).fit(reference) for kind in KINDS}


@pytest.fixture(params=KINDS)
def det(request, fitted):
    return fitted[request.param]


@pytest.fixture
def recon(fitted):
    return fitted["recon"]


# ---------------------------------------------------------------------- judging


def test_scores_are_finite_and_aligned(det, live):
    windows = det.score_windows(live)
    assert np.isfinite(windows.score).all()
    assert ((windows.p_value > 0) & (windows.p_value <= 1)).all()
    prompt = det.decision_function(live, align="prompt")
    np.testing.assert_array_equal(prompt[15:], windows.score)
    marked = np.zeros(len(live), bool)
    for alert in det.alerts(live, explain=False):
        marked[alert.first_row : alert.last_row + 1] = True
    np.testing.assert_array_equal(det.predict(live), marked)
    assert marked[det.decision_function(live) > det.threshold_].all()


def test_the_spike_is_the_highest_score_with_its_cause(det, live):
    windows = det.score_windows(live)
    top = int(np.argmax(windows.score))
    assert windows.start[top] <= 1200 <= windows.end[top]
    (alert,) = [alert for alert in det.alerts(live) if alert.start <= 1200 <= alert.end]
    assert alert.causes[0].variable == "v002"
    assert alert.causes[0].kind == "level"
    assert list(alert.causes) == det.explain(live, alert.start, alert.end)


def test_normal_data_are_marked_about_as_often_as_asked(recon):
    shares = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        values = worlds.coupled(rng, 1500, 4)
        det = clone(recon).fit(worlds.recording_of(values[:1000]))
        normal = worlds.recording_of(values[1000:], first_time=1000)
        shares.append((det.score_windows(normal).p_value <= 0.1).mean())
    assert 0.01 < np.mean(shares) < 0.25


def test_variables_may_come_and_go(recon, live):
    changed = live.rename(lambda name: f"{name}.of.tomorrow").select(
        [f"v00{j}.of.tomorrow" for j in (0, 3)]
    )
    assert np.isfinite(recon.decision_function(changed)).all()
    assert recon.explain(changed, 1200)


def test_calibrated_on_windows_that_were_not_trained_on(recon, reference):
    learned = recon.fitted_
    density = learned.density
    starts = np.arange(len(reference) - 15)
    held_out = starts[density.held_out.is_held_out(starts)]
    expected = np.sort(density.scores(learned.prepare(reference), held_out))
    promise.assert_scores_agree(learned.of_windows.null, expected, recon)
    assert learned.of_windows.n_independent == pytest.approx(len(held_out) / 8)
    # each block's ends, which fewer windows cover, are left out
    blocks = density.held_out
    n_steps = int((blocks.ends - blocks.firsts - 30).sum())
    assert len(learned.of_steps.null) == n_steps
    assert learned.of_steps.n_independent == pytest.approx(n_steps / 24)


def test_scores_of_the_reference_data_are_those_held_out(recon, reference):
    scores = recon.decision_scores_
    blocks = recon.fitted_.density.held_out
    expected = np.zeros(len(reference), bool)
    for first, end in zip(blocks.firsts, blocks.ends, strict=True):
        expected[first:end] = True
    np.testing.assert_array_equal(np.isfinite(scores), expected)
    assert recon.labels_.shape == (len(reference),)


# ---------------------------------------------------------------------- streams


def numbers(scores):
    return np.array([np.nan if score is None else score for score in scores])


def test_a_stream_scores_as_the_batch(det, live):
    stream = det.stream()
    actual = numbers([stream.push(live.times[t], live.row(t)) for t in range(60)])
    expected = det.decision_function(live, align="prompt")[:60]
    np.testing.assert_allclose(actual, expected, atol=TOLERANCE)
    assert 0 < stream.p_value <= 1


def test_a_saved_stream_resumes(recon, live, tmp_path):
    stream = recon.stream()
    for t in range(30):
        stream.push(live.times[t], live.row(t))
    stream.save(tmp_path / "live.smkc")
    recon.save(tmp_path / "model.smkc")
    resumed = smkc.load(tmp_path / "model.smkc").stream(resume=tmp_path / "live.smkc")
    for t in range(30, 40):
        assert resumed.push(live.times[t], live.row(t)) == stream.push(live.times[t], live.row(t))


def test_a_stream_of_another_model_is_refused(fitted, live, tmp_path):
    fitted["recon"].stream().save(tmp_path / "live.smkc")
    with pytest.raises(ModelFileError, match="another model"):
        fitted["prediction"].stream(resume=tmp_path / "live.smkc")


# ---------------------------------------------------------------------- learning


def test_fitting_is_repeatable_whatever_the_threads(recon, reference, live, monkeypatch):
    expected = recon.score_windows(live).score
    n_before = torch.get_num_threads()
    monkeypatch.setenv("SMKC_THREADS", "3")
    torch.set_num_threads(2)
    try:
        again = clone(recon).fit(reference)
        np.testing.assert_array_equal(again.score_windows(live).score, expected)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(n_before)
    assert again.threshold_ == recon.threshold_
    other = clone(recon).set_params(seed=1).fit(reference)
    assert not np.array_equal(other.score_windows(live).score, expected)


def test_a_stride_leaves_windows_out(reference, live):
    det = ReconDetector(**SMALL, stride=3).fit(reference)
    windows = det.score_windows(live)
    np.testing.assert_array_equal(windows.first_row, np.arange(0, 285, 3))
    assert np.isfinite(windows.score).all()


def test_channels_can_be_chosen(reference, live):
    det = ReconDetector(**SMALL, representation="log3 image").fit(reference)
    assert det.fitted_.density.settings.channels == ("log_g", "log_delta", "log_abs")
    assert np.isfinite(det.score_windows(live).score).all()
    assert det.explain(live, 1200)[0].variable == "v002"


def test_a_trained_detector_refuses_partial_fit(recon, reference, live):
    expected = recon.score_windows(live).score
    with pytest.raises(InputError, match="fit again"):
        recon.partial_fit(reference)
    np.testing.assert_array_equal(recon.score_windows(live).score, expected)


def test_the_first_partial_fit_is_a_fit(recon, reference, live):
    det = clone(recon).partial_fit(reference)
    np.testing.assert_array_equal(det.score_windows(live).score, recon.score_windows(live).score)


def test_too_little_reference_data(reference):
    with pytest.raises(WindowError, match=r"to train on.*give more reference data.*'knn'"):
        ReconDetector(**SMALL).fit(reference.rows(0, 100))


def test_before_fitting(live):
    with pytest.raises(NotFittedError, match="call fit first"):
        ReconDetector(**SMALL).decision_function(live)


# ---------------------------------------------------------------------- saving


def test_saved_and_loaded_to_the_bit(det, live, tmp_path):
    det.save(tmp_path / "host.smkc")
    loaded = smkc.load(tmp_path / "host.smkc")
    assert loaded.get_params() == det.get_params()
    assert loaded.threshold_ == det.threshold_
    expected, actual = det.score_windows(live), loaded.score_windows(live)
    np.testing.assert_array_equal(actual.score, expected.score)
    np.testing.assert_array_equal(actual.p_value, expected.p_value)
    assert loaded.alerts(live) == det.alerts(live)
    with pytest.raises(InputError, match="fit again"):
        loaded.partial_fit(live)


def test_a_file_of_another_kind_is_refused(fitted, tmp_path):
    fitted["recon"].save(tmp_path / "m.smkc")
    arrays, header = smkc.model_file.read(tmp_path / "m.smkc")
    for change in (
        {"detector": "ensemble"},
        {"detector": "knn"},
        {"window": 18},
        {"learn": {**TINY, "width": 32}},
        {"learn": "all"},
        {"epochs": "many"},
    ):
        changed = {**header, "settings": {**header["settings"], **change}}
        smkc.model_file.write(tmp_path / "changed.smkc", arrays, changed)
        with pytest.raises(ModelFileError, match="fit again"):
            smkc.load(tmp_path / "changed.smkc")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_model_of_a_gpu_loads_without_one(recon, live, tmp_path):
    recon.save(tmp_path / "m.smkc")
    arrays, header = smkc.model_file.read(tmp_path / "m.smkc")
    for device in ("cuda:1", None, "cuda"):
        header["settings"]["device"] = device
        smkc.model_file.write(tmp_path / "gpu.smkc", arrays, header)
        loaded = smkc.load(tmp_path / "gpu.smkc")
        assert loaded.device == "cpu"
    np.testing.assert_array_equal(loaded.score_windows(live).score, recon.score_windows(live).score)
    with pytest.raises(SettingError, match="finds no GPU"):
        smkc.load(tmp_path / "gpu.smkc", device="cuda")
    assert smkc.load(tmp_path / "gpu.smkc", device="cpu").device == "cpu"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
@pytest.mark.parametrize("kind", KINDS)
def test_trained_on_a_gpu_and_loaded_on_the_cpu(kind, reference, live, tmp_path):
    det = make_detector({"detector": kind, **SMALL, "device": "cuda"}).fit(reference)
    on_gpu = det.score_windows(live).score
    top = int(np.argmax(on_gpu))
    assert top <= 200 < top + 16
    det.save(tmp_path / "gpu.smkc")
    again = smkc.load(tmp_path / "gpu.smkc")
    assert again.device == "cuda"
    np.testing.assert_allclose(again.score_windows(live).score, on_gpu, atol=TOLERANCE)
    loaded = smkc.load(tmp_path / "gpu.smkc", device="cpu")
    assert loaded.device == "cpu"
    usual = on_gpu < loaded.threshold_
    on_cpu = loaded.score_windows(live).score
    np.testing.assert_allclose(on_cpu[usual], on_gpu[usual], atol=GPU_TOLERANCE)
    stream = det.stream()
    actual = numbers([stream.push(live.times[t], live.row(t)) for t in range(40)])[15:]
    np.testing.assert_allclose(actual, on_gpu[:25], atol=GPU_TOLERANCE)


def test_a_detector_without_training_has_no_settings_of_it(reference, tmp_path):
    smkc.Detector(window=16).fit(reference).save(tmp_path / "m.smkc")
    _, header = smkc.model_file.read(tmp_path / "m.smkc")
    assert set(header["settings"]) == {"detector", *smkc.Detector.setting_names()}
    loaded = smkc.load(tmp_path / "m.smkc", device="cuda")
    assert loaded.get_params() == smkc.Detector(window=16).get_params()


# ---------------------------------------------------------------------- settings


def test_scikit_learn_can_clone(recon):
    copy = clone(recon)
    assert copy.get_params() == recon.get_params()
    assert not copy.is_fitted


@pytest.mark.parametrize("change", [{"epochs": 3}, {"device": "cuda"}, {"learn": {"width": 8}}])
def test_a_changed_setting_is_refused_until_set_back(recon, live, change):
    (name,) = change
    before = getattr(recon, name)
    recon.set_params(**change)
    try:
        with pytest.raises(SettingError, match=rf"fitted with {name}=.*fit again"):
            recon.decision_function(live)
    finally:
        recon.set_params(**{name: before})


def test_an_option_changed_in_place_is_noticed(reference, live):
    det = ReconDetector(**{**SMALL, "learn": dict(TINY)}).fit(reference)
    det.learn["width"] = 8
    with pytest.raises(SettingError, match="fitted with learn="):
        det.decision_function(live)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"representation": "log3 band(8)"}, "whole kernel images"),
        ({"epochs": 0}, "epochs=0: give a whole number from 1"),
        ({"epochs": 1.5}, "epochs=1.5"),
        ({"device": 3}, "device=3: give text"),
        ({"device": "tpu"}, "device='tpu'.*cpu or cuda"),
        ({"representation": "seq"}, "representation='seq'.*whole kernel images.*'full image'"),
        ({"representation": "log3 band(4)"}, "whole kernel images"),
        ({"representation": "full down(8) image"}, "whole kernel images"),
        ({"window": 15, "learn": {"patch": 2}}, "15"),
        ({"window": 10**6}, "shorter window"),
        ({"learn": {"widht": 3}}, "did you mean 'width'"),
        ({"learn": {"heads": 3}}, "3"),
        ({"neighbours": 0}, "neighbours=0"),
    ],
)
def test_settings_that_cannot_work(reference, settings, told):
    det = ReconDetector(**{**SMALL, **settings})
    with pytest.raises(SettingError, match=told):
        det.fit(reference)


# ---------------------------------------------------------------------- without torch


@pytest.fixture
def without_torch(monkeypatch):
    for name in list(sys.modules):
        if name.startswith("smkc.paper.learn"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)


def test_without_torch_the_extra_is_named(recon, reference, live, tmp_path, request):
    recon.save(tmp_path / "m.smkc")
    request.getfixturevalue("without_torch")
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[deep\]"'):
        ReconDetector(**SMALL).fit(reference)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[deep\]"'):
        smkc.load(tmp_path / "m.smkc")
    assert np.isfinite(smkc.Detector(window=16).fit(reference).score_windows(live).score).all()
