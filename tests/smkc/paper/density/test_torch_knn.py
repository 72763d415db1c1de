"""The training-free density on a torch device against the processor's own."""

import numpy as np
import pytest

from smkc import Detector, load
from smkc.errors import DeviceWarning, SettingError
from smkc.paper import KnnDetector
from smkc.paper.density import KnnDensity, Projection
from smkc.paper.kernel import Representation
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

torch = pytest.importorskip("torch")
torch_knn = pytest.importorskip("smkc.paper.density.torch_knn")

pytestmark = pytest.mark.deep

TOLERANCE = 1e-5
DEVICE = "cuda" if torch.cuda.is_available() else "cpu:0"  # torch's operations, wherever we are
WINDOW = 16


def telemetry(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    walk = rng.normal(size=(n_rows, 6)).cumsum(axis=0) * 0.2 + rng.normal(size=(n_rows, 6))
    return Recording.from_rows(
        list(range(n_rows)),
        [{f"v{j}": v for j, v in enumerate(row) if rng.random() > 0.2} for row in walk.tolist()],
    )


def densities(representation="log3 band(4)", **settings):
    plain = KnnDensity.empty(
        window=WINDOW,
        representation=Representation.parse(representation),
        sketch=Sketch(buckets=16),
        projection=Projection(components=24, seed=2),
        neighbours=3,
        least_filled=settings.get("least_filled", 0.0),
        reference_size=settings.get("reference_size", 500),
    )
    return plain, torch_knn.TorchKnnDensity.on(plain, DEVICE)


@pytest.mark.parametrize("text", ["full image", "log3 band(4)", "anchor(3)", "down(4)", "seq"])
@pytest.mark.parametrize("guard", [0, 40])
def test_scores_equal_those_of_the_cpu(text, guard):
    reference = telemetry(300)
    starts = np.arange(len(reference) - WINDOW + 1)
    plain, ours = (one.learned(reference, starts) for one in densities(text))
    np.testing.assert_allclose(ours.references.vectors, plain.references.vectors, atol=TOLERANCE)
    np.testing.assert_allclose(ours.typical, plain.typical, rtol=1e-4, atol=TOLERANCE)
    np.testing.assert_allclose(
        ours.scores(reference, starts, guard), plain.scores(reference, starts, guard), atol=1e-4
    )


def test_blocks_change_nothing(monkeypatch):
    reference = telemetry(200)
    starts = np.arange(len(reference) - WINDOW + 1)
    learned = densities()[1].learned(reference, starts)
    expected = learned.scores(reference, starts, 20)
    monkeypatch.setattr(torch_knn, "BLOCK_BYTES", 40_000)
    np.testing.assert_allclose(learned.scores(reference, starts, 20), expected, atol=1e-6)


def test_windows_without_enough_observations_have_no_score():
    rows = [{"a": float(t % 5)} if t < 60 else {} for t in range(100)]
    reference, starts = Recording.from_rows(list(range(100)), rows), np.arange(85)
    plain, ours = (one.learned(reference, starts[:40]) for one in densities(least_filled=0.5))
    expected = plain.scores(reference, starts)
    assert np.isnan(expected).any()
    np.testing.assert_allclose(ours.scores(reference, starts), expected, atol=1e-4)


def test_a_detector_works_on_a_device(tmp_path):
    reference, live = telemetry(400), telemetry(120, seed=1)
    settings = {"window": WINDOW, "neighbours": 5, "reference_size": 200}
    settings["false_alarm_rate"] = 0.01  # as much as so short a reference can show
    plain = KnnDetector(**settings).fit(reference)
    ours = KnnDetector(**settings, device=DEVICE).fit(reference)
    expected = plain.decision_function(live)
    np.testing.assert_allclose(ours.decision_function(live), expected, atol=1e-4)
    path = tmp_path / "model.smkc"
    ours.save(path)
    again = load(path)
    assert again.device == DEVICE
    np.testing.assert_array_equal(again.decision_function(live), ours.decision_function(live))
    on_cpu = load(path, device="cpu")
    np.testing.assert_allclose(on_cpu.decision_function(live), expected, atol=1e-4)
    ours.partial_fit(live)
    assert len(ours.alerts(live)) == len(plain.partial_fit(live).alerts(live))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_the_device_the_cpu_is_used_with_a_warning():
    reference, live = telemetry(300), telemetry(80, seed=1)
    settings = {"window": WINDOW, "neighbours": 5}
    expected = KnnDetector(**settings).fit(reference).decision_function(live)
    with pytest.warns(DeviceWarning, match="device='cuda' cannot be used: torch finds no such"):
        found = KnnDetector(**settings, device="cuda").fit(reference)
    np.testing.assert_array_equal(found.decision_function(live), expected)


def test_unknown_devices_are_refused():
    with pytest.raises(SettingError, match="device='gpu' is not known; use cpu or cuda"):
        KnnDetector(device="gpu").fit(telemetry(300))
    with pytest.raises(SettingError, match="device=3: give text"):
        KnnDetector(device=3).fit(telemetry(300))
    with pytest.raises(SettingError, match=r"no setting 'device'.*smkc\.paper\.KnnDetector"):
        Detector(device="cuda").fit(telemetry(300))
