"""All questions together, fitted on a reference: constants, newcomers, cuts, saving, shuffling."""

import numpy as np
import pytest
from tests.smkc.evidence.made_blocks import block_of

from smkc.evidence.model import ReferenceEvidence
from smkc.evidence.saving import flat, rebuilt
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables import QUESTIONS, VariableQuestions, VariableState
from smkc.evidence.variables.state import CERTAIN_NATS
from smkc.recording import Recording

N_REFERENCE, N_LIVE, KEPT = 600, 500, 1024
NAMES = [f"v{j}" for j in range(8)]
DEFAULT_RATE = 0.002
MIN_NEWCOMER_OBSERVATIONS = 2 * SETTINGS.min_observations


def table(rng, n):
    """Return columns: noise, noise with gaps, related ones, steps, a constant, never observed."""
    values = rng.normal(size=(n, 8))
    values[rng.random(n) < 0.4, 1] = np.nan
    values[:, 3] = values[:, 2] + 0.05 * values[:, 3]
    values[:, 4] = -values[:, 2] + 0.05 * values[:, 4]
    values[:, 5] = np.round(values[:, 5])
    values[:, 6] = 3.0
    values[:, 7] = np.nan
    return values.astype(np.float32)


def residuals_of(values):
    """Return what the third column leaves unexplained of those that follow it."""
    left = values.copy()
    left[:, 3] -= values[:, 2]
    left[:, 4] += values[:, 2]
    return left


@pytest.fixture(scope="module")
def reference():
    return table(np.random.default_rng(1), N_REFERENCE)


@pytest.fixture(scope="module")
def fitted(reference):
    later = reference[360:]
    return VariableQuestions.fit(reference, later, residuals_of(later), NAMES, [False] * 8)


@pytest.fixture
def live(rng):
    values = table(rng, N_LIVE)
    values[100:110, 0] += 9.0
    values[200:230, 2] = 0.5
    values[300:, 3] = rng.normal(size=200)
    values[400:420, 6] = 4.0
    values[450:, 4] = np.nan
    newcomers = rng.normal(size=(N_LIVE, 2)).astype(np.float32)
    newcomers[:150, 0] = newcomers[:250, 1] = np.nan
    newcomers[400:, 0] += 25.0
    return values, newcomers


def pushed(state, values, newcomers, rows):
    """Push some rows, with no more newcomers than have come by then."""
    came = [j for j in range(2) if not np.isnan(newcomers[: rows[-1] + 1, j]).all()]
    block = block_of(values[rows], newcomers[rows][:, came], rows.astype(float))
    return state.push(block, residuals_of(values[rows]))


def test_each_question_finds_what_it_asks_for(fitted, live):
    values, newcomers = live
    state = fitted.start(block_of(values[:0]), KEPT)
    heard = pushed(state, values, newcomers, np.arange(N_LIVE))
    assert heard.surprises[102:110].min() > -np.log(DEFAULT_RATE)
    assert (heard.columns[101:110, 0] == 0).all()
    asked = {QUESTIONS[q].name: columns for q, columns in state.loudest_of(0, N_LIVE).items()}
    assert max(asked["frozen"], key=asked["frozen"].get) == 2
    assert asked["relation of one"].keys() == {3, 4}, "the one that left, the one that froze others"
    assert max(asked["level"], key=asked["level"].get) in (0, 8)
    assert heard.columns[410:, 0].tolist().count(8) > 40, "the newcomer that left its past"


def test_what_a_newcomer_did_while_young_is_no_surprise_later(fitted, live):
    values, _ = live
    newcomers = np.random.default_rng(8).normal(size=(N_LIVE, 2)).astype(np.float32)
    newcomers[20:N_LIVE:60, 1] += 12.0  # as often as anything else that it does
    newcomers[300, 0] += 12.0
    state = fitted.start(block_of(values[:0]), KEPT)
    pushed(state, values, newcomers, np.arange(N_LIVE))
    of_questions = state.loudest_of(250, 301).values()
    first, second = (max(some.get(column, 0.0) for some in of_questions) for column in (8, 9))
    assert second < np.log(65) + 1.0 < first - 2.0, "its past has 64 rows; noise is beyond it"


def test_of_normal_rows_few_are_surprising(fitted):
    values = table(np.random.default_rng(5), 4000)
    state = fitted.start(block_of(values[:0]), KEPT)
    heard = state.push(block_of(values), residuals_of(values))
    for rate in (0.1, 0.01):
        assert (heard.surprises > -np.log(rate)).mean() < rate


@pytest.mark.parametrize("cuts", [[1], [64, 64, 301], list(range(1, N_LIVE))])
def test_cuts_saving_and_newcomers_change_no_bit(fitted, reference, live, cuts):
    values, newcomers = live
    whole = fitted.start(block_of(reference[-40:]), KEPT)
    expected = pushed(whole, values, newcomers, np.arange(N_LIVE))
    state, surprises, columns = fitted.start(block_of(reference[-40:]), KEPT), [], []
    for number, rows in enumerate(np.split(np.arange(N_LIVE), cuts)):
        if not len(rows):
            continue
        heard = pushed(state, values, newcomers, rows)
        surprises.append(heard.surprises)
        columns.append(heard.columns[:, :8])
        if number % 50 == 0:
            again = fitted.start(block_of(values[:0]), KEPT)
            again.restore({key: array.copy() for key, array in state.to_arrays().items()})
            state = again
    np.testing.assert_array_equal(np.concatenate(surprises), expected.surprises)
    np.testing.assert_array_equal(np.concatenate(columns), expected.columns[:, :8])
    assert state.loudest_of(0, N_LIVE) == whole.loudest_of(0, N_LIVE)


def test_a_saved_model_asks_the_same(fitted, live):
    values, newcomers = live
    again = rebuilt(VariableQuestions, *flat(fitted))
    expected, actual = (
        pushed(one.start(block_of(values[:0]), KEPT), values, newcomers, np.arange(N_LIVE))
        for one in (fitted, again)
    )
    np.testing.assert_array_equal(actual.surprises, expected.surprises)


def test_later_rows_do_not_change_earlier_ones(fitted, live):
    values, newcomers = live
    expected = pushed(
        fitted.start(block_of(values[:0]), KEPT), values, newcomers, np.arange(N_LIVE)
    )
    values[350:], newcomers[350:] = 50.0, -50.0
    actual = pushed(fitted.start(block_of(values[:0]), KEPT), values, newcomers, np.arange(N_LIVE))
    np.testing.assert_array_equal(actual.surprises[:350], expected.surprises[:350])


@pytest.mark.parametrize(
    ("name", "is_certain"),
    [
        ("up", True),
        ('up{job="a"}', True),
        ('redis_up{job="a"}', True),
        ("probe_success", True),
        ("u", False),
        ("backup", False),
    ],
)
def test_only_a_target_that_is_down_is_certain_trouble(rng, name, is_certain):
    values = rng.normal(size=(600, 3)).astype(np.float32)
    values[:, 2] = 1.0
    names = ["a", "b", name]
    questions = VariableQuestions.fit(values, values[360:], values[360:], names, [False] * 3)
    live = values[:50].copy()
    live[20:30, 2] = 0.0
    state = questions.start(block_of(live[:0]), KEPT)
    heard = state.push(block_of(live), live)
    if is_certain:
        np.testing.assert_allclose(heard.surprises[20:30], CERTAIN_NATS, rtol=1e-6)
    else:
        assert (heard.columns[20:30] == 2).any(axis=1).all(), "it is named"
        assert heard.surprises[20:30].max() < -np.log(DEFAULT_RATE), "constants do move"
    assert heard.surprises[30:].max() < -np.log(DEFAULT_RATE)


def test_a_target_that_comes_up_is_no_trouble(rng):
    values = rng.normal(size=(600, 3)).astype(np.float32)
    values[:, 2] = 0.0
    names = ["a", "b", "redis_up"]
    questions = VariableQuestions.fit(values, values[360:], values[360:], names, [False] * 3)
    live = values[:50].copy()
    live[20:, 2] = 1.0
    loud = questions.start(block_of(live[:0]), KEPT).push(block_of(live), live)
    assert loud.surprises.max() < -np.log(DEFAULT_RATE)


def test_a_newcomer_is_asked_once_it_has_a_past(fitted, rng):
    values = table(rng, 200)
    newcomers = rng.normal(size=(200, 1)).astype(np.float32)
    newcomers[[MIN_NEWCOMER_OBSERVATIONS - 2, MIN_NEWCOMER_OBSERVATIONS]] = 40.0
    state = fitted.start(block_of(values[:0]), KEPT)
    heard = state.push(block_of(values, newcomers), residuals_of(values))
    is_first = heard.columns[:, 0] == 8
    assert not is_first[: MIN_NEWCOMER_OBSERVATIONS - 1].any()
    assert is_first[MIN_NEWCOMER_OBSERVATIONS]


def test_who_was_loud_in_accepted_rows_has_a_new_normal(fitted, rng):
    values = table(rng, 120)
    values[60:, 0] += 9.0
    state = fitted.start(block_of(values[:0]), KEPT)
    assert isinstance(state, VariableState)
    state.push(block_of(values[:60]), residuals_of(values[:60]))
    later = block_of(values[60:]), residuals_of(values[60:])
    first = state.push(*later)
    assert (first.columns[2:, 0] == 0).all()
    state.accept(60, 120)
    after = state.push(*later)
    assert first.surprises[2:].min() > -np.log(DEFAULT_RATE) > after.surprises.max()


# ------------------------------------------------------------------ in the model of all evidences


def recording(values, names, first):
    rows, codes = np.nonzero(~np.isnan(values))
    times = np.arange(first, first + len(values))
    return Recording.from_observations(times, rows, codes, values[rows, codes], tuple(names))


@pytest.mark.parametrize("n_known", [1, 2, 8])
def test_row_by_row_is_the_same_to_the_bit(n_known):
    """With newcomers midway, also where there are fewer known variables than are added up."""
    rng = np.random.default_rng(n_known)
    reference = table(rng, 400)[:, :n_known]
    model = ReferenceEvidence.fit(recording(reference, NAMES[:n_known], 0))
    values = np.hstack([table(rng, 300)[:, :n_known], rng.normal(size=(300, 2))])
    values[:100, n_known] = values[:140, n_known + 1] = np.nan
    values[60:70, 0] += 9.0
    values[250:, n_known] += 30.0
    values[200:210] = np.nan
    live = recording(values, [*NAMES[:n_known], "x", "y"], 400)
    expected = model.start().push_rows(live)
    state = model.start()
    parts = []
    for row in range(300):
        parts.append(state.push_rows(live.rows(row, row + 1)))
        if row in (50, 120, 220):
            state = model.start().restored(*state.to_arrays())
    for key in ("held", "prompt", "p_values", "nats"):
        actual = np.concatenate([getattr(part, key) for part in parts])
        np.testing.assert_array_equal(actual, getattr(expected, key), err_msg=key)


def test_the_order_of_variables_changes_no_bit(rng):
    reference, live = table(rng, 400), table(rng, 200)
    live[60:70, 0] += 9.0
    order = rng.permutation(8)
    names = [NAMES[j] for j in order]
    found = []
    for which, called in ((range(8), NAMES), (order, names)):
        model = ReferenceEvidence.fit(recording(reference[:, which], called, 0))
        state = model.start()
        found.append((state.push_rows(recording(live[:, which], called, 400)), state.blame(60, 70)))
    for key in ("held", "prompt", "p_values"):
        np.testing.assert_array_equal(getattr(found[0][0], key), getattr(found[1][0], key))
    assert found[0][1] == found[1][1]
    assert next(iter(found[0][1].variables)) == "v0"


@pytest.mark.parametrize(("value", "is_frozen"), [(0.0, False), (0.5, True)])
def test_a_variable_that_is_idle_is_not_frozen(rng, value, is_frozen):
    busy = np.maximum(rng.normal(0.5, 1.0, size=(N_REFERENCE + 100, 1)), 0.0).astype(np.float32)
    nothing = np.empty((0, 1), np.float32)
    fitted = VariableQuestions.fit(busy[:N_REFERENCE], nothing, nothing, ["io"], [False])
    live = busy[N_REFERENCE:]
    live[20:60] = value
    state = fitted.start(block_of(live[:0]), KEPT)
    state.push(block_of(live), live[:, :0])
    frozen = [question.name for question in QUESTIONS].index("frozen")
    assert (frozen in state.loudest_of(20, 60)) == is_frozen
