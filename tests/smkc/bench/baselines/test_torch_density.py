"""The density in torch against the library's own."""

import numpy as np
import pytest
from tests.smkc.bench.baselines.made_windows import made_windows

from smkc.bench.baselines.randproj_knn import RandProjKnn
from smkc.density import Projection
from smkc.errors import InputError, SettingError
from smkc.kernel import Representation
from smkc.sketch import Sketch

torch_density = pytest.importorskip("smkc.bench.baselines.torch_density")

pytestmark = pytest.mark.deep

TOLERANCE = 1e-4

SMALL = {"window": 8, "sketch": Sketch(buckets=16), "neighbours": 3}
PROJECTION = Projection(components=24, seed=2)


def density(representation="full image", **settings):
    parsed = Representation.parse(representation)
    settings = {**SMALL, "device": "cpu", **settings}
    return torch_density.TorchDensity(representation=parsed, projection=PROJECTION, **settings)


def scores_of(made, normal, windows):
    made.learn(normal.recording(), normal.starts())
    return made.scores(windows.recording(), windows.starts())


@pytest.mark.parametrize("text", ["full image", "log3 band(4)", "anchor(3)", "down(4)", "seq"])
def test_scores_are_the_librarys(rng, text):
    normal, windows = made_windows(rng, 40), made_windows(rng, 20, n_anomalous=5)
    windows.observed[0] = False
    library = RandProjKnn(representation=text, components=24, seed=2, **SMALL).fit(normal)
    actual = scores_of(density(text), normal, windows)
    assert actual.dtype == np.float64
    np.testing.assert_allclose(actual, library.score(windows), atol=TOLERANCE)


def test_a_window_without_features_has_the_librarys_score(rng):
    normal, windows = made_windows(rng, 40), made_windows(rng, 3)
    windows.observed[:2] = False
    library = RandProjKnn(representation="log3", components=24, seed=2, **SMALL).fit(normal)
    actual = scores_of(density("log3"), normal, windows)
    np.testing.assert_allclose(actual, library.score(windows), atol=TOLERANCE)


def test_blocks_change_nothing(rng, monkeypatch):
    normal, windows = made_windows(rng, 40), made_windows(rng, 20)
    expected = scores_of(density(), normal, windows)
    monkeypatch.setattr(torch_density, "BLOCK_BYTES", 40_000)
    np.testing.assert_allclose(scores_of(density(), normal, windows), expected, atol=1e-6)


def test_a_device_of_torch_is_used_when_asked_for(rng):
    normal, windows = made_windows(rng, 40), made_windows(rng, 5)
    plain, by_torch = (
        RandProjKnn(device=device, components=24, **SMALL).fit(normal)
        for device in ("cpu", "cpu:0")
    )
    assert isinstance(by_torch.density_, torch_density.TorchDensity)
    np.testing.assert_allclose(by_torch.score(windows), plain.score(windows), atol=TOLERANCE)


def test_what_it_needs_is_said(rng):
    windows = made_windows(rng, 2)
    with pytest.raises(InputError, match="fewer neighbours"):
        scores_of(density(), windows, windows)
    with pytest.raises(SettingError, match="device='abacus' cannot be used"):
        density(device="abacus")
