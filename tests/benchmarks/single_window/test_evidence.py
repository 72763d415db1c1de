"""WindowEvidence: what it promises of windows, nulls, files and blame."""

import numpy as np
import pytest

from benchmarks.single_window import EVIDENCES, KINDS, WindowEvidence
from benchmarks.world import World, generate
from smkc.errors import InputError, ModelFileError, NotFittedError, SettingError, WindowError

NAMES = [evidence.name for evidence in EVIDENCES]
WEIGHTS = np.array([evidence.weight for evidence in EVIDENCES])
LENGTH = 32


def windows(n_windows, cardinality, seed, places=8, **options):
    made = generate(
        World(),
        pool="train",
        n_windows=n_windows,
        cardinality=cardinality,
        length=LENGTH,
        seed=(seed, cardinality),
        **options,
    )
    out = np.full((n_windows, LENGTH, places), np.nan)
    out[:, :, :cardinality] = np.where(made.observed, made.values, np.nan)
    return out


def several(n_windows, cardinalities, seed, **options):
    return np.concatenate([windows(n_windows, c, seed, **options) for c in cardinalities])


@pytest.fixture(scope="module")
def fitted():
    return WindowEvidence().fit(several(150, (1, 2, 4, 8), seed=1))


@pytest.fixture(scope="module")
def test_set():
    return several(20, (1, 3, 6), seed=2, rate=0.5)


def test_evidences_are_of_all_kinds_and_the_cheap_ones_come_first():
    assert len(set(NAMES)) == 11
    assert {evidence.kind for evidence in EVIDENCES} == set(KINDS)
    assert [evidence.is_dear for evidence in EVIDENCES] == [False] * 5 + [True] * 6
    assert {evidence.name for evidence in EVIDENCES if evidence.grows} == {"hole", "residual_size"}


def test_answers_have_shapes_and_agree(fitted, test_set):
    answers = fitted.ask(test_set)
    assert answers.statistics.shape == answers.log_p.shape == (60, 11)
    assert np.isfinite(answers.statistics).all()
    assert (answers.cardinality == np.repeat([1, 3, 6], 20)).all()
    np.testing.assert_array_equal(fitted.statistics(test_set), answers.statistics)
    np.testing.assert_array_equal(fitted.p_values(test_set), np.exp(answers.log_p))
    np.testing.assert_array_equal(fitted.score(test_set), answers.score)
    weighted = answers.log_p * WEIGHTS
    np.testing.assert_allclose(answers.score, np.sqrt((weighted**2).sum(axis=1)))
    assert ((answers.p_value > 0) & (answers.p_value <= 1)).all()
    for c in (1, 3, 6):  # within a cardinality, p-values fall as scores rise
        here = answers.cardinality == c
        order = np.argsort(answers.score[here])
        assert (np.diff(answers.p_value[here][order]) <= 0).all()


def test_anomalies_of_every_kind_stand_out(fitted):
    normal = fitted.score(windows(100, 6, seed=3))
    for kind, least in (
        ("factor spike", 0.9),
        ("sparse spikes", 0.9),
        ("coupling change", 0.7),
        ("channel reassignment", 0.7),
        ("lag copy", 0.9),
        ("regime switch", 0.2),
    ):
        scores = fitted.score(windows(60, 6, seed=4, rate=1.0, kind=kind))
        assert (scores > np.quantile(normal, 0.95)).mean() >= least, kind


def test_false_alarms_are_as_rare_as_they_should_be(fitted):
    """Seen and unseen cardinalities; 600 windows each, so that 1% is 6 give or take 5.

    What a tenth is was learned from 150 windows a cardinality: 10% is that give or take 5%.
    """
    for cardinality in (1, 3, 4, 6):
        p_value = fitted.ask(windows(600, cardinality, seed=5)).p_value
        assert (p_value <= 0.01).mean() <= 0.03, cardinality
        assert 0.04 <= (p_value <= 0.1).mean() <= 0.16, cardinality


def test_the_order_of_variables_changes_no_bit(fitted, test_set, rng):
    order = rng.permutation(test_set.shape[2])
    np.testing.assert_array_equal(
        fitted.statistics(test_set[:, :, order]), fitted.statistics(test_set)
    )


def test_absent_variables_and_padding_change_no_bit(fitted, test_set):
    wider = np.pad(test_set, ((0, 0), (0, 0), (2, 1)), constant_values=np.nan)
    wider[:, 3, 0] = 7.0  # seen once: that is no variable to ask about
    np.testing.assert_array_equal(fitted.statistics(wider), fitted.statistics(test_set))


def test_a_window_does_not_depend_on_its_company_or_on_threads(fitted, test_set, monkeypatch):
    together = fitted.ask(test_set)
    alone = fitted.ask(test_set[17:18])
    assert alone.score[0] == together.score[17]
    monkeypatch.setenv("SMKC_THREADS", "3")
    many = np.concatenate([test_set] * 4)
    assert fitted.score(many).tobytes() == np.tile(together.score, 4).tobytes()
    again = WindowEvidence().fit(several(150, (1, 2, 4, 8), seed=1))
    assert again.score(test_set).tobytes() == together.score.tobytes()
    assert len(fitted.score(test_set[:0])) == 0


def test_offsets_of_variables_and_a_common_unit_play_no_part(fitted, test_set):
    expected = fitted.statistics(test_set)
    moved = test_set + np.arange(test_set.shape[2]) * 64.0
    np.testing.assert_allclose(fitted.statistics(moved), expected, rtol=1e-3, atol=1e-3)
    larger = WindowEvidence().fit(1024.0 * several(150, (1, 2, 4, 8), seed=1))
    np.testing.assert_allclose(larger.score(1024.0 * test_set), fitted.score(test_set), rtol=1e-6)


def test_statistics_without_common_units_ignore_the_units_of_a_window(fitted, test_set):
    free = [
        NAMES.index(name)
        for name in NAMES
        if name not in ("known_speeds", "path_break", "path_copy")
    ]
    expected = fitted.statistics(test_set)[:, free]
    actual = fitted.statistics(test_set * 0.125)[:, free]
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


def odd_windows():
    rng = np.random.default_rng(6)
    usual = rng.normal(size=(LENGTH, 4)).cumsum(axis=0)
    yield "nothing seen", np.full((LENGTH, 4), np.nan), True
    yield "nothing moves", np.tile([1.0, 2.0, np.nan, -1e9], (LENGTH, 1)), True
    sparse = np.full((LENGTH, 4), np.nan)
    sparse[::5] = 1.0
    yield "hardly anything seen", sparse, True
    half = usual.copy()
    half[10:] = np.nan
    yield "seen for a third", half, True
    yield "infinite", np.where(usual > 1e9, usual, np.inf), True
    yield "one moves", np.c_[usual[:, :1], np.zeros((LENGTH, 3))], False
    yield "two alike", usual[:, [0, 0, 1, 1]], False
    yield "huge", 1e150 * usual, False
    yield "tiny", 1e-150 * usual, False
    yield "every other", np.where(np.arange(LENGTH)[:, None] % 2, usual, np.nan), False
    one = np.zeros((LENGTH, 4))
    one[9, 2] = 1.0
    yield "one single spike", one, False
    yield "infinite once", np.where(np.arange(LENGTH)[:, None] == 4, np.inf, usual), False


@pytest.mark.parametrize(
    ("window", "is_mute"),
    [pytest.param(window, is_mute, id=name) for name, window, is_mute in odd_windows()],
)
def test_odd_windows_abstain_or_answer_but_never_fail(fitted, window, is_mute):
    answers = fitted.ask(window[None])
    assert not np.isinf(answers.statistics).any()
    assert np.isnan(answers.score[0]) == is_mute
    assert np.isnan(answers.p_value[0]) == is_mute
    if is_mute:
        assert np.isnan(answers.statistics).all()
    assert np.isfinite(fitted.blame(window)).all()


def test_an_abstaining_evidence_counts_as_an_average_one(fitted):
    every_other = windows(30, 4, seed=7)
    every_other[:, ::2] = np.nan  # no two consecutive steps: no step to judge
    answers = fitted.ask(every_other)
    assert np.isnan(answers.statistics[:, NAMES.index("largest_step")]).all()
    log_p = np.where(np.isnan(answers.log_p), -1.0, answers.log_p)
    weighted = log_p * WEIGHTS
    np.testing.assert_allclose(answers.score, np.sqrt((weighted**2).sum(axis=1)))


def test_doubt_asks_less_and_keeps_its_false_alarms():
    reference = several(150, (1, 2, 4, 8), seed=1)
    test = several(50, (3, 6), seed=8, rate=0.3)
    full = WindowEvidence().fit(reference).ask(test)
    some = WindowEvidence(doubt=(0.01, 0.5)).fit(reference)
    answers = some.ask(test)
    asked = ~np.isnan(answers.statistics[:, 5:]).all(axis=1)
    assert 0 < asked.sum() < len(test)
    np.testing.assert_array_equal(answers.statistics[asked], full.statistics[asked])
    np.testing.assert_array_equal(answers.statistics[:, :5], full.statistics[:, :5])
    p_value = some.ask(windows(600, 4, seed=5)).p_value
    assert (p_value <= 0.01).mean() <= 0.03


def test_evidences_may_be_left_out(fitted, test_set):
    reference = several(60, (1, 2, 4, 8), seed=1)
    some = WindowEvidence(without=("gaps", "hole")).fit(reference)
    answers, full = some.ask(test_set), fitted.ask(test_set)
    left_out = np.isin(NAMES, ["gaps", "hole"])
    assert np.isnan(answers.statistics[:, left_out]).all()
    np.testing.assert_allclose(answers.statistics[:, :4], full.statistics[:, :4])
    assert (some.blame(test_set[-1])[left_out] == 0).all()
    cheap = WindowEvidence(without=NAMES[5:]).fit(reference)
    assert np.isnan(cheap.ask(test_set).statistics[:, 5:]).all()
    assert np.isfinite(cheap.score(test_set)).all()
    arrays, header = some.to_arrays()
    with pytest.raises(ModelFileError, match="fit again"):
        WindowEvidence().restored(arrays, header)
    for wrong in (("depth",), NAMES):
        with pytest.raises(SettingError, match="largest_value, largest_step"):
            WindowEvidence(without=wrong).fit(reference)


def test_silence_of_some_variables_for_a_while_stands_out(fitted):
    silent = windows(40, 6, seed=10)
    silent[:, 12:18, 1:4] = np.nan
    gaps = NAMES.index("gaps")
    assert (fitted.p_values(silent)[:, gaps] < 0.01).all()
    assert (fitted.blame(silent[0])[gaps, 1:4] > 0.2).all()
    gone = windows(40, 6, seed=10)
    gone[:, 12:, 1:4] = np.nan  # vanished, perhaps for good: that is churn
    assert (fitted.p_values(gone)[:, gaps] > 0.5).mean() > 0.9


def test_blame_points_at_the_planted_variable(fitted):
    clean = windows(1, 6, seed=9, places=6)[0]
    clean = np.where(np.isnan(clean), np.nanmedian(clean, axis=0), clean)
    spike, repeated = clean.copy(), clean.copy()
    spike[20, 3] += 40.0
    blame = fitted.blame(spike)
    for name in ("largest_value", "largest_step", "hole", "residual_size"):
        assert blame[NAMES.index(name)].argmax() == 3, name
    for i in range(6):
        repeated[22:28, i] += 0.0 if i == 2 else 3.0
    repeated[22:28, 2] = repeated[4:10, 2]
    for name in NAMES:
        share = fitted.blame(repeated)[NAMES.index(name)]
        assert share.sum() == pytest.approx(1.0) or (share == 0).all()
    foreign = clean.copy()
    foreign[12:18, 4] = [9.0, -8.0, 7.0, 8.0, -9.0, 7.0]
    for name in ("hole", "residual_size"):
        assert fitted.blame(foreign)[NAMES.index(name)].argmax() == 4, name


def test_saved_and_restored_to_the_bit(fitted, test_set, tmp_path):
    from smkc import model_file

    arrays, header = fitted.to_arrays()
    model_file.write(tmp_path / "m", arrays, header)
    restored = WindowEvidence().restored(*model_file.read(tmp_path / "m"))
    expected, actual = fitted.ask(test_set), restored.ask(test_set)
    assert actual.score.tobytes() == expected.score.tobytes()
    assert actual.p_value.tobytes() == expected.p_value.tobytes()
    assert restored.blame(test_set[0]).tobytes() == fitted.blame(test_set[0]).tobytes()


def test_damaged_models_are_refused(fitted):
    arrays, header = fitted.to_arrays()
    for damage in (
        {"statistics": arrays["statistics"][:, :10]},
        {"cardinality": arrays["cardinality"].astype(np.int32)},
        {"speeds": -arrays["speeds"]},
        {"weights": arrays["weights"][:3]},
        {"loadings": arrays["loadings"][:, :3]},
        {"noise": -arrays["noise"]},
        {"noise": arrays["noise"][:3]},
        {"coupling_weights": np.nan * arrays["coupling_weights"]},
    ):
        with pytest.raises(ModelFileError, match="fit again"):
            WindowEvidence().restored({**arrays, **damage}, header)
    for damage in ({"evidences": NAMES[:-1]}, {"length": 3}, {"unit": 0.0}, {"doubt": [0, 1]}):
        with pytest.raises(ModelFileError, match="fit again"):
            WindowEvidence().restored(arrays, {**header, **damage})
    for name in ("weights", "loadings"):
        with pytest.raises(ModelFileError, match=name):
            WindowEvidence().restored({k: v for k, v in arrays.items() if k != name}, header)


def test_what_cannot_be_used_is_refused(fitted, test_set):
    with pytest.raises(NotFittedError, match="fit"):
        WindowEvidence().score(test_set)
    with pytest.raises(WindowError, match="31 steps"):
        fitted.score(test_set[:, :31])
    with pytest.raises(WindowError, match="16 steps"):
        WindowEvidence().fit(test_set[:, :12])
    with pytest.raises(InputError, match="shape"):
        fitted.score(test_set[0])
    with pytest.raises(InputError, match="0 of 60"):
        WindowEvidence().fit(np.zeros_like(test_set))
    with pytest.raises(SettingError, match="doubt"):
        WindowEvidence(doubt=(0.5, 0.1)).fit(test_set)


def test_other_lengths_and_many_variables(rng):
    for length, n_variables in ((16, 1), (17, 2), (50, 3), (33, 40)):
        normal = rng.normal(size=(40, length, n_variables)).cumsum(axis=1)
        evidence = WindowEvidence(most_windows=30).fit(normal)
        assert np.isfinite(evidence.ask(normal).score).all()
        assert len(evidence.nulls_.cardinality) == 30
