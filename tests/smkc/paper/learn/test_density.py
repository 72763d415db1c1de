import numpy as np
import pytest
from tests import promise, worlds

from smkc.errors import InputError, ModelFileError, NotFittedError, SettingError, WindowError
from smkc.paper.kernel import Representation, features
from smkc.paper.learn import density as module
from smkc.paper.learn.density import LearnedDensity
from smkc.paper.learn.settings import learn_settings
from smkc.paper.sketch import Sketch
from smkc.recording import Scaling

pytestmark = pytest.mark.deep

# In spreads of normal windows: a window alone is summed in another order than in a batch.
TOLERANCE = 1e-3

TINY = {
    "width": 16,
    "layers": 1,
    "heads": 2,
    "expansion": 2,
    "stem_width": 8,
    "n_masks": 2,
    "decoder_layers": 1,
}
IMAGE = Representation.parse("full image")


def empty(window=16, neighbours=5, **more):
    options = {**TINY, **more.pop("learn", {})}
    return LearnedDensity.empty(
        window=window,
        representation=more.pop("representation", IMAGE),
        sketch=Sketch(buckets=32),
        least_filled=0.5,
        settings=learn_settings(options, objective="recon", neighbours=neighbours, epochs=2),
    )


@pytest.fixture(scope="module")
def prepared():
    recording = worlds.recording_of(worlds.coupled(np.random.default_rng(5), 500, 4))
    return Scaling.fit(recording).start().scale(recording)


@pytest.fixture(scope="module")
def starts(prepared):
    return np.arange(len(prepared) - 15)


@pytest.fixture(scope="module")
def trained(prepared, starts):
    return empty().learned(prepared, starts)


# ---------------------------------------------------------------------- learning


def test_learning_leaves_the_original_alone(prepared, starts, trained):
    assert trained.model is not None
    assert empty().model is None
    assert 0 < trained.n_references <= len(starts)
    assert trained.window == 16
    assert trained.neighbours == 5


def test_typical_is_the_mean_image_of_windows_trained_on(prepared, starts, trained):
    own = starts[trained.held_out.is_trained(starts)]
    expected = features(prepared, own, 16, IMAGE, trained.sketch).mean(axis=0)
    assert trained.typical.dtype == np.float32
    np.testing.assert_allclose(trained.typical, expected, atol=1e-5)


def test_more_windows_than_are_wanted_are_drawn_at_random(prepared, starts, monkeypatch):
    monkeypatch.setattr(module, "MOST_TRAINED", 100)
    few = empty().learned(prepared, starts)
    assert few.n_references == 100
    again = empty().learned(prepared, starts)
    assert few.fingerprint() == again.fingerprint()


def test_what_is_trained_learns_no_more(prepared, starts, trained):
    with pytest.raises(InputError, match=r"fit again on all of it.*'knn'"):
        trained.learned(prepared, starts)


@pytest.mark.parametrize("n_rows", [16, 60, 110])
def test_too_few_windows(prepared, n_rows):
    short = prepared.rows(0, n_rows)
    with pytest.raises(WindowError, match=r"rows give .* to train on and .* held out.*shorter"):
        empty().learned(short, np.arange(n_rows - 15))


def test_more_neighbours_than_windows(prepared, starts):
    with pytest.raises(WindowError, match="at least 400 and"):
        empty(neighbours=400).learned(prepared, starts)


def test_before_learning(prepared, starts):
    with pytest.raises(NotFittedError, match="fit first"):
        empty().scores(prepared, starts)


# ---------------------------------------------------------------------- scoring


def test_scores_do_not_depend_on_what_is_beside_them(prepared, starts, trained):
    scores = trained.scores(prepared, starts)
    assert np.isfinite(scores).all()
    some = np.array([300, 7, 8, 123])
    promise.assert_scores_agree(trained.scores(prepared, some), scores[some], "recon")
    assert trained.scores(prepared, starts[:0]).shape == (0,)


def test_windows_with_little_in_them_have_no_score(prepared, trained):
    gap = prepared.rows(0, 200)
    traces = np.stack([gap.trace(name) for name in gap.names], axis=1)
    traces[50:90] = np.nan
    scores = trained.scores(worlds.recording_of(traces), np.arange(185))
    assert np.isnan(scores[60])
    assert np.isfinite(scores[[0, 120]]).all()


def test_only_held_out_windows_are_scored_with_a_guard(prepared, starts, trained):
    scores = trained.scores(prepared, starts, guard=64)
    is_held_out = trained.held_out.is_held_out(starts)
    np.testing.assert_array_equal(np.isfinite(scores), is_held_out)
    without = trained.scores(prepared, starts)
    promise.assert_scores_agree(scores[is_held_out], without[is_held_out], "recon")
    runs = trained.left_out_runs(prepared, starts)
    np.testing.assert_array_equal(np.concatenate(runs), starts[is_held_out])


def test_runs_that_calibrate_are_bounded(prepared, starts, trained, monkeypatch):
    monkeypatch.setattr(module, "MOST_LEFT_OUT", 40)
    (run,) = trained.left_out_runs(prepared, starts)
    np.testing.assert_array_equal(run, np.arange(run[0], run[0] + 40))


@pytest.mark.parametrize("channels", ["full", "cos3"])
def test_a_single_window_scores_as_in_the_batch(prepared, starts, trained, channels):
    representation = Representation.parse(f"{channels} image")
    if channels != "full":
        options = learn_settings(
            TINY, objective="recon", channels=representation.channels, neighbours=5, epochs=1
        )
        trained = LearnedDensity.empty(
            window=16,
            representation=representation,
            sketch=trained.sketch,
            least_filled=0.5,
            settings=options,
        ).learned(prepared, starts)
    actual = [trained.scores(prepared, np.array([start]))[0] for start in range(25)]
    expected = trained.scores(prepared, np.arange(25))
    np.testing.assert_allclose(actual, expected, atol=TOLERANCE)


# ---------------------------------------------------------------------- settings and saving


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"window": 15, "learn": {"patch": 2}}, "15"),
        ({"window": 16, "learn": {"patch": 16}}, "16"),
        ({"window": 300, "learn": {"patch": 2}}, "window=300 has more than 128 patches of 2 rows"),
        ({"window": 509}, "window=509 has more than 128 patches of 1 rows.*shorter window"),
        ({"learn": {"backbone": "conv"}}, "backbone='conv'"),
        ({"learn": {"tokens": "half"}}, "half"),
    ],
)
def test_settings_that_cannot_work(settings, told):
    with pytest.raises(SettingError, match=told):
        empty(**settings)


def test_saved_and_restored_to_the_bit(prepared, starts, trained):
    arrays, header = trained.to_arrays()
    restored = empty().restored(arrays, header)
    np.testing.assert_array_equal(
        restored.scores(prepared, starts), trained.scores(prepared, starts)
    )
    assert restored.fingerprint() == trained.fingerprint()
    np.testing.assert_array_equal(restored.typical, trained.typical)
    # where the reference data lay is not saved, so nothing of a recording can be told as left out
    assert np.isnan(restored.scores(prepared, starts, guard=16)).all()
    assert restored.left_out_runs(prepared, starts) == []


def spoilt(arrays, name, change):
    return {**arrays, name: change(arrays[name])}


def with_nan(array):
    array = array.copy()
    array.flat[0] = np.nan
    return array


@pytest.mark.parametrize(
    "spoil",
    [
        lambda a: spoilt(a, "typical", lambda t: t[:-1]),
        lambda a: spoilt(a, "typical", with_nan),
        lambda a: spoilt(a, "recon/references", with_nan),
        lambda a: spoilt(a, "recon/references", lambda r: r[:3]),
        lambda a: spoilt(a, "recon/references", lambda r: r[:, :3]),
        lambda a: {name: a[name] for name in a if "class_token" not in name},
    ],
)
def test_content_that_does_not_fit_is_refused(trained, spoil):
    arrays, header = trained.to_arrays()
    with pytest.raises(ModelFileError, match="fit again"):
        empty().restored(spoil(arrays), header)


def test_networks_of_another_size_are_refused(trained):
    with pytest.raises(ModelFileError, match="fit again"):
        empty(learn={"width": 8}).restored(*trained.to_arrays())
    with pytest.raises(ModelFileError, match="fit again"):
        empty(window=18).restored(*trained.to_arrays())
