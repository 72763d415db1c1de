"""What stands where nothing was observed reaches no score, in any model of sets or tables."""

from dataclasses import replace

import numpy as np
import pytest
from tests.benchmarks.baselines.made_windows import made_windows, shuffled

from benchmarks.baselines.deepsets_gru import DeepSetsGru
from benchmarks.baselines.mscred import Mscred
from benchmarks.baselines.pad_mask_gru_ae import PadMaskGruAe
from benchmarks.baselines.set_transformer_gru import SetTransformerGru
from benchmarks.windows import Windows
from smkc.paper.learn.training import Training

COMPETITORS = [DeepSetsGru, SetTransformerGru, PadMaskGruAe, Mscred]
ONE_EPOCH = Training(epochs=1, batch_size=16, learning_rate=1e-2)

# Some processors round the products of a smaller batch otherwise, in float32's last digits.
ROUNDING = 1e-5


def fitted(competitor):
    normal = made_windows(np.random.default_rng(5), 40)
    return competitor(window=8, training=ONE_EPOCH).fit(normal)


@pytest.fixture(scope="module", params=COMPETITORS, ids=lambda competitor: competitor.__name__)
def learned(request):
    return fitted(request.param)


@pytest.fixture
def windows(rng):
    return made_windows(rng, 30, n_anomalous=6, missing=0.3)


def test_scores_differ_between_windows(learned, windows):
    scores = learned.score(windows)
    assert len(np.unique(scores)) == len(scores)
    assert (scores > 0).all()


def test_values_that_were_not_observed_change_nothing(rng, learned, windows):
    expected = learned.score(windows)
    for garbage in (-1e30, np.inf, np.nan):
        values = np.where(windows.observed, windows.values, np.float32(garbage))
        np.testing.assert_array_equal(learned.score(replace(windows, values=values)), expected)


def test_values_that_were_observed_do_change_scores(learned, windows):
    values = np.where(windows.observed, windows.values + np.float32(1e-2), np.float32(0))
    assert (learned.score(replace(windows, values=values)) != learned.score(windows)).all()


def test_wider_padding_changes_nothing(learned, windows):
    wider = windows.padded_to(40)
    np.testing.assert_array_equal(learned.score(wider), learned.score(windows))


def test_training_on_wider_padding_changes_nothing(learned, windows):
    normal = made_windows(np.random.default_rng(5), 40).padded_to(23)
    again = type(learned)(window=8, training=ONE_EPOCH).fit(normal)
    np.testing.assert_array_equal(again.score(windows), learned.score(windows))


def test_a_variable_that_is_never_observed_changes_nothing(learned, windows):
    names = ("a", *windows.names)  # first of all names, so that every other one moves
    variables = np.where(windows.variables >= 0, windows.variables + 1, windows.variables)
    more = Windows(
        np.concatenate([np.full_like(windows.values[..., :1], 5.0), windows.values], axis=2),
        np.pad(windows.observed, ((0, 0), (0, 0), (1, 0))),
        np.pad(variables, ((0, 0), (1, 0))),
        names,
        windows.kinds,
        windows.segments,
    )
    np.testing.assert_array_equal(learned.score(more), learned.score(windows))


def test_the_order_of_variables_changes_nothing(rng, learned, windows):
    np.testing.assert_array_equal(learned.score(shuffled(rng, windows)), learned.score(windows))


def test_other_windows_change_nothing(learned, windows):
    expected = learned.score(windows)
    for b in (0, 7, 25):
        alone = learned.score(windows.take([b]))
        np.testing.assert_allclose(alone, expected[[b]], rtol=ROUNDING)
    backwards = windows.take(slice(None, None, -1))
    np.testing.assert_allclose(learned.score(backwards), expected[::-1], rtol=ROUNDING)


def test_a_window_without_observations_has_a_finite_score(learned, windows):
    observed = windows.observed.copy()
    observed[3] = False
    scores = learned.score(replace(windows, observed=observed))
    assert np.isfinite(scores).all()
    others = np.delete(learned.score(windows), 3)
    np.testing.assert_allclose(np.delete(scores, 3), others, rtol=ROUNDING)
    nothing = replace(windows, observed=np.zeros_like(observed))
    assert np.isfinite(learned.score(nothing)).all()
    assert learned.score(windows.take(slice(0, 0))).shape == (0,)


def test_the_same_seed_gives_the_same_scores(learned, windows):
    np.testing.assert_array_equal(fitted(type(learned)).score(windows), learned.score(windows))


@pytest.mark.parametrize("competitor", [DeepSetsGru, SetTransformerGru])
def test_sets_know_no_names(rng, competitor, windows):
    learned = fitted(competitor)
    variables = windows.variables.copy()
    for row in variables:
        is_variable = row >= 0
        row[is_variable] = rng.permutation(len(windows.names))[: is_variable.sum()]
    renamed = replace(windows, variables=variables)
    np.testing.assert_allclose(learned.score(renamed), learned.score(windows), rtol=1e-5)
