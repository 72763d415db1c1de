import re

import numpy as np
import pytest
from tests import promise, worlds

import smkc
from smkc import model_file
from smkc.errors import InputError, ModelFileError
from smkc.paper import KnnDetector
from smkc.recording import Recording
from smkc.stream import MAX_SPELLINGS

SMALL = {"window": 16, "neighbours": 5, "components": 32, "false_alarm_rate": 0.05}
REPRESENTATIONS = [
    "log3 band(8)",
    "full image",
    "log3 anchor(8)",
    "full proj(64) image",
    "full down(8) image",
    "cos3 image",
    "base2 band(3)",
    "seq",
]


def churning(seed=3, n_rows=700):
    """Rows with churn, lost samples, counters that are reset, and empty rows."""
    rng = np.random.default_rng(seed)
    table = worlds.churn(rng, worlds.coupled(rng, n_rows, 6))
    table[:, 0] = np.cumsum(rng.poisson(5, n_rows))
    table[n_rows // 2 :, 0] -= table[n_rows // 2, 0]
    table[rng.random(n_rows) < 0.03] = np.nan
    return worlds.recording_of(table, ["requests_total", *worlds.names_of(5)])


@pytest.fixture(scope="module")
def recording():
    return churning()


@pytest.fixture(scope="module")
def det(recording):
    return KnnDetector(**SMALL).fit(recording.rows(0, 400))


def rows_of(recording, first=0):
    return [(recording.times[t], recording.row(t)) for t in range(first, len(recording))]


def pushed(stream, rows):
    return [stream.push(time, row) for time, row in rows]


def as_numbers(scores):
    return np.array([np.nan if score is None else score for score in scores])


# ---------------------------------------------------------------------- equal to the batch


@pytest.mark.parametrize("stride", [1, 5])
@pytest.mark.parametrize("scaling", ["robust", None])
def test_equals_the_batch(recording, stride, scaling):
    det = KnnDetector(**SMALL, stride=stride, scaling=scaling).fit(recording.rows(0, 400))
    assert scaling is None or det.fitted_.scaling.counter.any()
    live = recording.rows(400)
    windows = det.score_windows(live)
    scores = pushed(det.stream(), rows_of(live))
    has_one = [t for t, score in enumerate(scores) if score is not None]
    assert has_one == windows.last_row.tolist()
    actual = [scores[t] for t in has_one]
    promise.assert_scores_agree(actual, windows.score)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_equals_the_batch_for_every_representation(recording, representation):
    det = KnnDetector(**SMALL, representation=representation).fit(recording.rows(0, 400))
    live = recording.rows(400, 500)
    scores = pushed(det.stream(), rows_of(live))
    expected = det.decision_function(live, align="prompt")
    promise.assert_scores_agree(scores, expected)


def test_dates_as_times(recording):
    times = np.datetime64("2026-01-01", "ns") + np.arange(len(recording)) * np.timedelta64(15, "s")
    dated = Recording(times, recording.indptr, recording.codes, recording.values, recording.names)
    det = KnnDetector(**SMALL).fit(dated.rows(0, 400))
    live = dated.rows(400)
    scores = pushed(det.stream(), rows_of(live))
    expected = det.decision_function(live, align="prompt")
    promise.assert_scores_agree(scores, expected)
    stream = det.stream()
    stream.push("2026-02-01T00:00:00", {"v001": 1.0})
    stream.push(times[-1] + np.timedelta64(60, "D"), {"v001": 1.0})
    assert stream.n_rows == 2


def test_missing_values_are_not_observed(det, recording):
    live = rows_of(recording, 400)[:60]
    bare, holed = det.stream(), det.stream()
    expected = pushed(bare, live)
    noisy = [(time, row | {"a": np.nan, "b": np.inf, "c": None, "d": 1e300}) for time, row in live]
    actual = pushed(holed, noisy)
    np.testing.assert_array_equal(as_numbers(actual), as_numbers(expected))


def test_empty_rows_count_and_too_many_make_nan(det):
    stream = det.stream()
    scores = [stream.push(t, {"v001": 1.0} if t < 16 else {}) for t in range(40)]
    assert scores[14] is None
    assert np.isfinite(scores[15])
    assert np.isfinite(scores[23])
    assert scores[24] is None
    assert stream.p_value is None


def test_the_order_of_a_row_changes_no_bit(det, recording):
    live = rows_of(recording, 400)[:60]
    turned = [(time, dict(reversed(row.items()))) for time, row in live]
    assert pushed(det.stream(), live) == pushed(det.stream(), turned)


def test_labels_in_any_order_are_one_variable(recording):
    one, other = 'up{a="1",b="2"}', 'up{b="2",a="1"}'
    renamed = recording.rename({"v001": one})
    det = KnnDetector(**SMALL).fit(renamed.rows(0, 400))
    live = rows_of(renamed, 400)[:40]
    turned = [
        (time, {other if name == one else name: value for name, value in row.items()})
        for time, row in live
    ]
    assert pushed(det.stream(), live) == pushed(det.stream(), turned)
    with pytest.raises(InputError, match=r"names one variable twice.*name each variable once"):
        det.stream().push(0, {one: 1.0, other: 2.0})


def test_p_values_of_the_latest_score(det, recording):
    stream = det.stream()
    live = recording.rows(400, 430)
    assert stream.p_value is None
    for time, row in rows_of(live):
        stream.push(time, row)
    expected = det.score_windows(live).p_value[-1]
    assert stream.p_value == pytest.approx(expected, abs=1e-4)
    assert stream.n_rows == 30


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("time", [10, 9, -1])
def test_time_must_go_on(det, time):
    stream = det.stream()
    stream.push(10, {"v001": 1.0})
    with pytest.raises(InputError, match=r"is not after 10.*push rows in order"):
        stream.push(time, {"v001": 1.0})
    assert stream.n_rows == 1
    stream.push(11, {"v001": 1.0})


@pytest.mark.parametrize("time", ["noon", None, np.nan, [1, 2], {}])
def test_times_that_are_none(det, time):
    stream = det.stream()
    with pytest.raises(InputError):
        stream.push(time, {"v001": 1.0})
    stream.push(1, {"v001": 1.0})
    with pytest.raises(InputError):
        stream.push(time, {"v001": 1.0})


def test_dates_after_numbers(det):
    with pytest.raises(InputError, match="time_unit"):
        det.stream().push(np.datetime64("2026-01-01"), {"v001": 1.0})


@pytest.mark.parametrize("value", ["high", [1.0], {}, object()])
def test_values_that_are_no_numbers(det, recording, value):
    stream, untouched = det.stream(), det.stream()
    live = rows_of(recording, 400)[:40]
    expected = pushed(untouched, live)
    actual = pushed(stream, live[:20])
    with pytest.raises(InputError, match=r"'v002' is .*give a number"):
        stream.push(live[20][0], {"v001": 1.0, "v002": value})
    actual += pushed(stream, live[20:])
    np.testing.assert_array_equal(as_numbers(actual), as_numbers(expected))


def test_a_hundred_thousand_names_over_time_are_not_all_remembered(det):
    stream = det.stream()
    for t in range(400):
        stream.push(t, {f"pod-{t}-{j}": float(j % 7) for j in range(500)} | {"v001": 1.0})
    assert stream.n_rows * 500 == 200_000
    assert len(stream._name_of) <= MAX_SPELLINGS + 1000
    assert len(stream._scan._halo.names) <= 16 * 501
    scaling = stream._scan._scaling
    assert len(scaling._slot_of) <= 2 * scaling._max_variables + 1000
    assert len(scaling._table) <= 4 * scaling._max_variables + 1000
    assert np.isfinite(stream.push(400, {"v001": 1.0}))


# ---------------------------------------------------------------------- saved in the middle


@pytest.mark.parametrize("scaling", ["robust", None])
@pytest.mark.parametrize("at", [0, 1, 7, 60])
def test_resumed_to_the_bit(recording, tmp_path, scaling, at):
    det = KnnDetector(**SMALL, scaling=scaling, stride=3).fit(recording.rows(0, 400))
    live = rows_of(recording, 400)
    whole = det.stream()
    expected = pushed(whole, live)
    first = det.stream()
    actual = pushed(first, live[:at])
    first.save(tmp_path / "live.smkc")
    det.save(tmp_path / "model.smkc")
    resumed = smkc.load(tmp_path / "model.smkc").stream(resume=tmp_path / "live.smkc")
    assert resumed.n_rows == at
    actual += pushed(resumed, live[at:])
    np.testing.assert_array_equal(as_numbers(actual), as_numbers(expected))
    resumed.save(tmp_path / "later.smkc")
    whole.save(tmp_path / "whole.smkc")
    assert (tmp_path / "later.smkc").read_bytes() == (tmp_path / "whole.smkc").read_bytes()


def test_resumed_with_newcomers_and_dates(recording, tmp_path):
    times = np.datetime64("2026-01-01", "ns") + np.arange(len(recording)) * np.timedelta64(15, "s")
    dated = Recording(times, recording.indptr, recording.codes, recording.values, recording.names)
    det = KnnDetector(**SMALL).fit(dated.rows(0, 400).select(lambda name: name != "v003"))
    live = rows_of(dated, 400)
    expected = pushed(det.stream(), live)
    stream = det.stream()
    actual = pushed(stream, live[:40])
    stream.save(tmp_path / "s")
    actual += pushed(det.stream(resume=tmp_path / "s"), live[40:])
    np.testing.assert_array_equal(as_numbers(actual), as_numbers(expected))
    with pytest.raises(InputError, match="is not after"):
        det.stream(resume=tmp_path / "s").push(live[39][0], {})


def test_resuming_what_another_model_saved(det, recording, tmp_path):
    other = KnnDetector(**SMALL, seed=5).fit(recording.rows(0, 400))
    other.stream().save(tmp_path / "s")
    with pytest.raises(ModelFileError, match=r"another model.*start the stream afresh"):
        det.stream(resume=tmp_path / "s")


def test_resuming_a_detector(det, tmp_path):
    det.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="holds a 'detector', not a 'stream'"):
        det.stream(resume=tmp_path / "m")


def test_resuming_a_damaged_file(det, tmp_path):
    det.stream().save(tmp_path / "s")
    whole = (tmp_path / "s").read_bytes()
    for cut in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:cut])
        with pytest.raises(ModelFileError):
            det.stream(resume=tmp_path / "cut")


def with_nan(array):
    array = array.copy()
    array.flat[0] = np.nan
    return array


HOSTILE = {
    "no values": (lambda a: a.pop("halo.values"), None),
    "too few values": (lambda a: a.update({"halo.values": a["halo.values"][1:]}), None),
    "values as int": (lambda a: a.update({"halo.values": a["halo.values"].astype(int)}), None),
    "NaN in values": (lambda a: a.update({"halo.values": with_nan(a["halo.values"])}), None),
    "an unknown variable": (lambda a: a.update({"halo.codes": a["halo.codes"] + 9}), None),
    "a negative code": (lambda a: a.update({"halo.codes": a["halo.codes"] - 9}), None),
    "too few rows": (lambda a: a.update({"halo.indptr": a["halo.indptr"][1:]}), None),
    "times backwards": (lambda a: a.update({"halo.times": a["halo.times"][::-1].copy()}), None),
    "no latest rows": (None, lambda h: h.pop("halo")),
    "names as numbers": (None, lambda h: h["halo"].update(names=[3] * len(h["halo"]["names"]))),
    "no last time": (lambda a: a.pop("last_time"), None),
    "no scaling arrays": (lambda a: a.pop("scaling.seen"), None),
    "NaN in scaling": (lambda a: a.update({"scaling.count": a["scaling.count"] - 10**6}), None),
    "no number of rows": (None, lambda h: h.pop("n_rows")),
    "rows as text": (None, lambda h: h.update(n_rows="3")),
    "no scaling": (None, lambda h: h.pop("scaling")),
    "scaling as a list": (None, lambda h: h.update(scaling=[])),
    "an object as time": (None, lambda h: h.update(time_type="O")),
    "a number as type of time": (None, lambda h: h.update(time_type=3)),
    "an unknown type of time": (None, lambda h: h.update(time_type="nonsense")),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_resuming_hostile_content(det, recording, tmp_path, how):
    stream = det.stream()
    pushed(stream, [(time, row | {"new": 1.0}) for time, row in rows_of(recording, 400)[:30]])
    stream.save(tmp_path / "s")
    arrays, header = model_file.read(tmp_path / "s")
    for change, content in zip(HOSTILE[how], (arrays, header), strict=True):
        if change is not None:
            change(content)
    model_file.write(tmp_path / "s", arrays, header)
    with pytest.raises(ModelFileError):
        det.stream(resume=tmp_path / "s")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"v0": "3.5"}, "value of 'v0' is '3.5'; give a number"),
        ({"v0": 10**400}, "value of 'v0' is 1000"),
        ({"v0": [1.0, 2.0]}, "value of 'v0'"),
        ({1: 3.5}, "called 1; names are text"),
        ([("v0", 1.0)], "mapping of variables to numbers, not list"),
    ],
)
def test_a_row_that_is_not_names_and_numbers_is_refused_by_name(det, row, message):
    live = det.stream()
    with pytest.raises(InputError, match=re.escape(message)):
        live.push(0, row)


@pytest.mark.parametrize(
    "change",
    [
        {"n_rows": -1},
        {"n_rows": 3},
        {"n_rows": True},
        {"time_type": "<U2"},
        {"time_type": "V8"},
        {"time_type": "<f4"},
    ],
    ids=str,
)
def test_a_state_that_cannot_be_is_refused(det, tmp_path, change):
    live = det.stream()
    for t in range(20):
        live.push(t, {"v0": float(t % 3), "v1": 1.0})
    live.save(tmp_path / "state")
    arrays, header = model_file.read(tmp_path / "state")
    model_file.write(tmp_path / "state", arrays, header | change)
    with pytest.raises(ModelFileError, match="start the stream afresh"):
        det.stream(resume=tmp_path / "state")
