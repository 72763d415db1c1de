"""Model files at the level of the detector: exact when ours, refused by name when not."""

import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import worlds

import smkc
from smkc import model_file
from smkc.errors import InputError, ModelFileError
from smkc.paper import KnnDetector
from smkc.recording import Identity

SMALL = {"window": 12, "neighbours": 4, "components": 16, "false_alarm_rate": 0.05}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    return worlds.churn(rng, worlds.coupled(rng, 400, 4))


@pytest.fixture(scope="module")
def live(table):
    return worlds.recording_of(table[250:], first_time=250)


@pytest.fixture(scope="module")
def det(table):
    return KnnDetector(**SMALL).fit(worlds.recording_of(table[:250]))


@pytest.fixture(scope="module")
def content(det, tmp_path_factory):
    """Arrays and header of a valid model."""
    path = tmp_path_factory.mktemp("model") / "valid.smkc"
    det.save(path)
    return model_file.read(path)


@pytest.fixture
def written(tmp_path):
    """Write arrays and a header, with a right checksum, and return the path."""

    def write(arrays, header):
        model_file.write(tmp_path / "changed.smkc", arrays, header)
        return tmp_path / "changed.smkc"

    return write


# ---------------------------------------------------------------------- round trip


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"scaling": None},
        {"stride": 3, "align": "prompt"},
        {"representation": "seq", "buckets": 8},
        {"identity": Identity(drop=("pod",))},
        {"identity": Identity(pattern="^(v)")},
        {"reference_size": 30, "seed": 2**40},
        {"presence": False, "saturate": False, "normalise": False, "counters": None},
    ],
)
def test_scores_are_the_same_to_the_bit(table, live, tmp_path, more):
    det = KnnDetector(**SMALL, **more).fit(worlds.recording_of(table[:250]))
    det.save(tmp_path / "host.smkc")
    loaded = smkc.load(tmp_path / "host.smkc")
    assert loaded.get_params() == det.get_params()
    assert loaded.threshold_ == det.threshold_
    expected, actual = det.score_windows(live), loaded.score_windows(live)
    np.testing.assert_array_equal(actual.score, expected.score)
    np.testing.assert_array_equal(actual.p_value, expected.p_value)
    assert loaded.alerts(live) == det.alerts(live)
    loaded.save(tmp_path / "again.smkc")
    assert (tmp_path / "again.smkc").read_bytes() == (tmp_path / "host.smkc").read_bytes()


def test_a_loaded_detector_goes_on_learning_as_the_original(table, live, tmp_path):
    more = worlds.recording_of(table[100:250], first_time=100)
    det = KnnDetector(**SMALL, reference_size=60).fit(worlds.recording_of(table[:150]))
    det.save(tmp_path / "m")
    loaded = smkc.load(str(tmp_path / "m")).partial_fit(more)
    det.partial_fit(more)
    np.testing.assert_array_equal(loaded.score_windows(live).score, det.score_windows(live).score)
    assert loaded.threshold_ == det.threshold_


def test_the_reference_data_themselves_are_not_in_the_file(det, tmp_path):
    det.save(tmp_path / "m")
    with pytest.raises(smkc.errors.NotFittedError, match=r"not kept.*decision_function"):
        _ = smkc.load(tmp_path / "m").decision_scores_


def test_the_header_describes_hash_and_projection(content):
    header = content[1]
    assert header["kind"] == "detector"
    assert header["settings"]["representation"] == "log3 band(8)"
    density = header["density"]
    assert density["hash"].startswith("md5")
    assert density["generator"] == "numpy.PCG64.standard_normal.float32"
    assert density["shape"] == [3 * 8 * 12, 16]
    assert density["seed"] == 0
    assert len(density["sha256"]) == 64


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"detector": "forest"}, "detector='forest' is not known"),
        ({"windw": 3}, "KnnDetector has no setting 'windw'"),
    ],
)
def test_settings_that_nobody_knows_are_refused(settings, told, det, tmp_path):
    det.save(tmp_path / "m")
    arrays, header = smkc.model_file.read(tmp_path / "m")
    header["settings"] |= settings
    smkc.model_file.write(tmp_path / "m", arrays, header)
    with pytest.raises(smkc.errors.ModelFileError, match=rf"no usable detector: {told}.*fit again"):
        smkc.load(tmp_path / "m")


# ---------------------------------------------------------------------- hostile content


def without(mapping, key):
    return {name: value for name, value in mapping.items() if name != key}


def changed(arrays, key, change):
    return {**arrays, key: change(arrays[key])}


def with_nan(array):
    array = array.copy()
    array.flat[0] = np.nan
    return array


HOSTILE_ARRAYS = {
    "no references": lambda a: without(a, "density.references"),
    "no typical features": lambda a: without(a, "density.typical"),
    "no calibration": lambda a: without(a, "calibration.steps"),
    "no centre": lambda a: without(a, "scaling.centre"),
    "references and typical swapped": lambda a: (
        a | {"density.references": a["density.typical"], "density.typical": a["density.references"]}
    ),
    "references transposed": lambda a: changed(a, "density.references", np.transpose),
    "too few references": lambda a: changed(a, "density.references", lambda r: r[:3]),
    "no reference at all": lambda a: changed(a, "density.references", lambda r: r[:0]),
    "references of float64": lambda a: changed(a, "density.references", np.float64),
    "NaN in references": lambda a: changed(a, "density.references", with_nan),
    "flat references": lambda a: changed(a, "density.references", np.ravel),
    "NaN in typical": lambda a: changed(a, "density.typical", with_nan),
    "short typical": lambda a: changed(a, "density.typical", lambda t: t[:-1]),
    "NaN in calibration": lambda a: changed(a, "calibration.windows", with_nan),
    "empty calibration": lambda a: changed(a, "calibration.windows", lambda c: c[:0]),
    "flat world": lambda a: changed(a, "calibration.steps", lambda c: c[:, None]),
    "calibration of float32": lambda a: changed(a, "calibration.steps", np.float32),
    "spread of zero": lambda a: changed(a, "scaling.spread", np.zeros_like),
    "short spread": lambda a: changed(a, "scaling.spread", lambda s: s[:-1]),
    "counters as numbers": lambda a: changed(a, "scaling.counter", np.int64),
}


@pytest.mark.parametrize("how", HOSTILE_ARRAYS)
def test_hostile_arrays(content, written, how):
    arrays, header = content
    with pytest.raises(ModelFileError, match="fit"):
        smkc.load(written(HOSTILE_ARRAYS[how](arrays), header))


def setting(name, value):
    return lambda h: {**h, "settings": {**h["settings"], name: value}}


def of_density(name, value):
    return lambda h: {**h, "density": {**h["density"], name: value}}


HOSTILE_HEADERS = {
    "no kind": lambda h: without(h, "kind"),
    "another kind": lambda h: h | {"kind": "stream"},
    "no settings": lambda h: without(h, "settings"),
    "settings as a list": lambda h: h | {"settings": [1, 2]},
    "settings as text": lambda h: h | {"settings": "window"},
    "no identity": lambda h: h | {"settings": without(h["settings"], "identity")},
    "unknown setting": setting("shell", "rm -rf"),
    "another window": setting("window", 13),
    "no window": setting("window", None),
    "huge window": setting("window", 10**12),
    "huge image": lambda h: setting("window", 6000)(setting("representation", "full image")(h)),
    "huge number": setting("window", 10**400),
    "negative neighbours": setting("neighbours", -1),
    "more neighbours than references": setting("neighbours", 10**6),
    "another projection": setting("components", 17),
    "another seed": setting("seed", 1),
    "a seed of text": setting("seed", "x"),
    "another detector": setting("detector", "pickle"),
    "unknown representation": setting("representation", "__import__('os')"),
    "representation as a list": setting("representation", ["log3"]),
    "identity as text": setting("identity", "x"),
    "identity with a wrong pattern": setting("identity", {"drop": [], "pattern": "("}),
    "identity with unknown keys": setting("identity", {"dropped": []}),
    "scaling off, yet there": setting("scaling", None),
    "no scaling, yet on": lambda h: without(h, "scaling"),
    "scaling as text": lambda h: h | {"scaling": "robust"},
    "no density": lambda h: without(h, "density"),
    "density as a list": lambda h: h | {"density": []},
    "no seen": lambda h: h | {"density": without(h["density"], "seen")},
    "seen too few": of_density("seen", 1),
    "seen as text": of_density("seen", "many"),
    "another matrix": of_density("sha256", "0"),
    "no number of independent scores": lambda h: without(h, "independent_steps"),
    "zero independent scores": lambda h: h | {"independent_steps": 0.0},
    "independent scores as text": lambda h: h | {"independent_windows": "10"},
    "presence as text": setting("presence", "no"),
    "rate of zero": setting("false_alarm_rate", 0.0),
}


@pytest.mark.parametrize("how", HOSTILE_HEADERS)
def test_hostile_headers(content, written, how):
    arrays, header = content
    with pytest.raises(ModelFileError):
        smkc.load(written(arrays, HOSTILE_HEADERS[how](copy.deepcopy(header))))


def test_a_stream_is_no_detector(det, tmp_path):
    det.stream().save(tmp_path / "live.smkc")
    with pytest.raises(ModelFileError, match=r"live.smkc.*'stream', not a detector"):
        smkc.load(tmp_path / "live.smkc")


@pytest.mark.parametrize("name", ["nowhere.smkc", "."])
def test_no_file(tmp_path, name):
    with pytest.raises(ModelFileError, match="give the path of a saved model"):
        smkc.load(tmp_path / name)


def test_a_file_of_something_else(tmp_path):
    (tmp_path / "x.csv").write_text("time,cpu\n0,1\n")
    with pytest.raises(ModelFileError, match="not a model file"):
        smkc.load(tmp_path / "x.csv")


def test_saving_where_one_cannot(det, tmp_path):
    with pytest.raises(ModelFileError, match="choose a folder"):
        det.save(tmp_path / "no" / "such" / "folder.smkc")


# ---------------------------------------------------------------------- any change at all

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.integers(-3, 40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["log3 band(8)", "full image", "seq", "robust", "prompt", "auto", "knn"]),
    st.just([]),
    st.just({}),
    st.lists(st.integers(0, 3), max_size=3),
)


def paths_of(header, before=()):
    """Every place in a header at which something stands."""
    for key, value in header.items():
        yield (*before, key)
        if isinstance(value, dict):
            yield from paths_of(value, (*before, key))


def put(header, path, value):
    header = copy.deepcopy(header)
    inner = header
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return header


def check_any_change(content, live, folder, draw):
    arrays, header = content
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(sorted(paths_of(header))))
        header = put(header, path, draw(anything))
    file = Path(folder) / "fuzzed.smkc"
    model_file.write(file, arrays, header)
    try:
        det = smkc.load(file)
    except ModelFileError:
        return
    try:
        scores = det.score_windows(live)
    except InputError:  # such as a model of dated recordings now
        return
    assert np.isfinite(scores.score).any()
    assert ((scores.p_value > 0) & (scores.p_value <= 1) | np.isnan(scores.score)).all()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore::UserWarning")
@given(st.data())
def test_any_change_of_the_header_is_refused_or_harmless(content, live, tmp_path, data):
    check_any_change(content, live, tmp_path, data.draw)


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), max_examples=2_000)
@pytest.mark.filterwarnings("ignore::UserWarning")
@given(st.data())
def test_many_changes_of_the_header(content, live, tmp_path, data):
    check_any_change(content, live, tmp_path, data.draw)


def test_a_file_that_does_not_say_what_was_learned_from_is_read(content, written):
    arrays, header = content
    older = {name: value for name, value in header.items() if name != "learned"}
    assert smkc.load(written(arrays, older)).learned_ is None
    for bad in ({}, [], {"rows": "many", "start": "0", "end": "1"}):
        with pytest.raises(ModelFileError, match="no usable detector"):
            smkc.load(written(arrays, {**header, "learned": bad}))


def test_learning_on_adds_to_what_was_learned_from(table):
    det = KnnDetector(**SMALL).fit(worlds.recording_of(table[:250]))
    det.partial_fit(worlds.recording_of(table[250:], first_time=250))
    assert (det.learned_.rows, det.learned_.start, det.learned_.end) == (400, "0", "399")
