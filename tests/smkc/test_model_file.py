"""Model files: what is written is read again exactly, and what is foreign is refused by name."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from tests.smkc.model_file_parts import ARRAYS, HEADER, same_arrays

import smkc
from smkc import model_file
from smkc.errors import ModelFileError

dtypes = st.sampled_from(["?", "u1", "i1", "i2", "i4", "i8", "f4", "f8"]).map(np.dtype)
array_sets = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st_numpy.arrays(dtypes, st_numpy.array_shapes(min_dims=0, min_side=0, max_side=4)),
    max_size=4,
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # any text at all, lone surrogates included: a name may be anything
    | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
headers = st.dictionaries(st.text(), json_values, max_size=4)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "host.smkc"
    model_file.write(path, ARRAYS, HEADER)
    return path


def parts(path: Path) -> tuple[dict[str, Any], bytes]:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def put_together(path: Path, described: Any, data: bytes) -> None:
    text = described if isinstance(described, bytes) else json.dumps(described).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


# ---------------------------------------------------------------------- round trip


def test_round_trip_is_exact(saved: Path) -> None:
    arrays, header = model_file.read(saved)
    assert same_arrays(ARRAYS, arrays)
    assert header == HEADER
    assert all(array.flags.writeable and array.flags.aligned for array in arrays.values())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(array_sets, headers)
def test_round_trip_of_anything(
    tmp_path: Path, arrays: dict[str, np.ndarray], header: dict[str, Any]
) -> None:
    arrays.pop("__metadata__", None)
    model_file.write(tmp_path / "any.smkc", arrays, header)
    actual_arrays, actual_header = model_file.read(tmp_path / "any.smkc")
    assert same_arrays(arrays, actual_arrays)
    assert actual_header == header


def test_order_in_memory_does_not_matter(tmp_path: Path) -> None:
    base = np.arange(24, dtype=np.float64).reshape(4, 6)
    arrays = {"turned": base.T, "thinned": base[::2, ::3], "big": base.astype(">f8")}
    model_file.write(tmp_path / "m", arrays, {})
    actual, _ = model_file.read(tmp_path / "m")
    for name, array in arrays.items():
        np.testing.assert_array_equal(actual[name], array)
    assert actual["big"].dtype == np.float64


def test_tuples_become_lists_and_keys_become_text(tmp_path: Path) -> None:
    model_file.write(tmp_path / "m", {}, {"pair": (1, 2), "by number": {10: "a", 9: "b"}})
    _, header = model_file.read(tmp_path / "m")
    assert header == {"pair": [1, 2], "by number": {"10": "a", "9": "b"}}


def test_is_a_safetensors_file(saved: Path) -> None:
    assert same_arrays(ARRAYS, safetensors.numpy.load_file(saved))


def test_says_what_wrote_it(saved: Path) -> None:
    envelope = json.loads(parts(saved)[0]["__metadata__"]["smkc"])
    assert envelope["format"] == "smkc-model"
    assert envelope["version"] == 1
    assert envelope["smkc"] == smkc.__version__


def test_the_same_model_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    model_file.write(tmp_path / "again", dict(reversed(ARRAYS.items())), HEADER)
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


# ---------------------------------------------------------------------- writing


@pytest.mark.parametrize(
    ("arrays", "header", "told"),
    [
        ({}, {"a": float("nan")}, "JSON"),
        ({}, {"a": np.float32(1)}, "JSON"),
        ({}, {1: "a", "1": "b"}, "twice"),
        ({"a": np.array(["text"])}, {}, "'a'"),
        ({"a": np.array([object()])}, {}, "'a'"),
        ({"a": np.zeros(2, np.complex64)}, {}, "complex64"),
        ({"a": np.zeros((1,) * 9)}, {}, "9 dimensions"),
        ({"__metadata__": np.zeros(2)}, {}, "__metadata__"),
    ],
)
def test_what_cannot_be_written(
    saved: Path, arrays: dict[str, Any], header: dict[Any, Any], told: str
) -> None:
    before = saved.read_bytes()
    with pytest.raises(ModelFileError, match=told):
        model_file.write(saved, arrays, header)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_a_failure_on_the_way_leaves_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(ModelFileError, match="No space left"):
                model_file.write(saved, {}, {})
        assert saved.read_bytes() == before
        assert os.listdir(saved.parent) == [saved.name]


def test_places_that_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="folder that exists"):
        model_file.write(tmp_path / "missing" / "m", {}, {})
    with pytest.raises(ModelFileError, match="not a file"):
        model_file.write(tmp_path, {}, {})
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a file"):
        model_file.write(tmp_path / "pipe", {}, {})


def test_permissions_follow_the_user_and_links_are_followed(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    (tmp_path / "link").symlink_to(saved)
    model_file.write(tmp_path / "link", {}, {"new": 1})
    assert (tmp_path / "link").is_symlink()
    assert model_file.read(saved)[1] == {"new": 1}


# ---------------------------------------------------------------------- reading


def test_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"nowhere.*No such file"):
        model_file.read(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="not a file"):
        model_file.read(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a file"):
        model_file.read(tmp_path / "pipe")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_no_permission(saved: Path) -> None:
    saved.chmod(0)
    with pytest.raises(ModelFileError, match="Permission denied"):
        model_file.read(saved)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 8,
        b"\xff" * 8,
        b"\xff" * 80,
        b"time,cpu\n0,1\n" * 9,
        (2**40).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (4).to_bytes(8, "little") + b"\xff\xfe\xff\xfe",
        (200_000).to_bytes(8, "little") + b"[" * 200_000,
        b"\x80\x04\x95" + b"cos\nsystem\n(S'exit'\ntR.",
    ],
)
def test_foreign_content(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="foreign"):
        model_file.read(path)


def test_foreign_safetensors(tmp_path: Path) -> None:
    safetensors.numpy.save_file({"weight": np.zeros(3)}, tmp_path / "m", metadata={"a": "b"})
    with pytest.raises(ModelFileError, match="not one of smkc"):
        model_file.read(tmp_path / "m")


def test_a_sparse_giant_is_not_loaded(tmp_path: Path) -> None:
    with open(tmp_path / "giant", "wb") as file:
        file.truncate(2**42)
    with pytest.raises(ModelFileError, match="bytes long"):
        model_file.read(tmp_path / "giant")


def test_a_newer_format_asks_for_an_upgrade(saved: Path) -> None:
    described, data = parts(saved)
    envelope = json.loads(described["__metadata__"]["smkc"]) | {"version": 2, "smkc": "9.0"}
    described["__metadata__"]["smkc"] = json.dumps(envelope)
    put_together(saved, described, data)
    with pytest.raises(ModelFileError, match=r"'9\.0'.*upgrade"):
        model_file.read(saved)


def edit_array(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda described: described["features"].update(changes)


def edit_envelope(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def edit(described: dict[str, Any]) -> None:
        envelope = json.loads(described["__metadata__"]["smkc"]) | changes
        described["__metadata__"]["smkc"] = json.dumps(envelope)

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        edit_array(dtype="F64"),
        edit_array(dtype="I32"),
        edit_array(dtype="PICKLE"),
        edit_array(dtype=["F32"]),
        edit_array(shape=[4, 3]),
        edit_array(shape=[12]),
        edit_array(shape=[-3, -4]),
        edit_array(shape=[3.0, 4.0]),
        edit_array(shape=[True, 12]),
        edit_array(shape="34"),
        edit_array(shape=[2**62, 2**62]),
        edit_array(shape=[0, 2**62, 2**62]),
        edit_array(shape=[3, 4] + [1] * 70),
        edit_array(data_offsets=[0, 48]),
        edit_array(data_offsets=[0, 2**60]),
        edit_array(data_offsets=[-8, 40]),
        edit_array(data_offsets=None),
        edit_array(data_offsets=["0", "48"]),
        edit_array(data_offsets=[0]),
        edit_array(surprise=1),
        lambda described: described.pop("features"),
        lambda described: described.pop("nothing"),
        lambda described: described.update(features=None),
        lambda described: described.update(extra=described["features"]),
        lambda described: described.update(other=described.pop("features")),
        lambda described: described.update(__metadata__=None),
        lambda described: described.update(__metadata__={"smkc": 1}),
        edit_envelope(format="other"),
        edit_envelope(version=0),
        edit_envelope(version=True),
        edit_envelope(version="1"),
        edit_envelope(header={"window": 65}),
        edit_envelope(header=None),
        edit_envelope(sha256=None),
        edit_envelope(sha256="0" * 64),
        edit_envelope(header={"a": float("nan")}),
        edit_envelope(extra=1),
    ],
)
def test_edited_descriptions(saved: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    described, data = parts(saved)
    edit(described)
    put_together(saved, described, data)
    with pytest.raises(ModelFileError, match=r"host\.smkc"):
        model_file.read(saved)


def test_a_true_checksum_does_not_excuse_a_missing_header(saved: Path) -> None:
    envelope: dict[str, Any] = {"format": "smkc-model", "version": 1, "smkc": "0.1.0"}
    envelope["sha256"] = model_file._checksum({}, envelope)
    put_together(saved, {"__metadata__": {"smkc": json.dumps(envelope)}}, b"")
    with pytest.raises(ModelFileError, match="no header"):
        model_file.read(saved)


def test_repeated_names_and_numbers_that_are_none(saved: Path) -> None:
    described, data = parts(saved)
    text = json.dumps(described)
    put_together(saved, (text[:-1] + ', "features": {}}').encode(), data)
    with pytest.raises(ModelFileError, match="twice"):
        model_file.read(saved)
    for number in ("1e999", "NaN", "-Infinity"):
        put_together(saved, (text[:-1] + f', "x": {number}}}').encode(), data)
        with pytest.raises(ModelFileError, match=number):
            model_file.read(saved)


def test_booleans_that_are_neither(saved: Path) -> None:
    described, data = parts(saved)
    at = described["flags"]["data_offsets"][0]
    put_together(saved, described, data[:at] + b"\2" + data[at + 1 :])
    with pytest.raises(ModelFileError, match="neither true nor false"):
        model_file.read(saved)


# ---------------------------------------------------------------------- packed


def test_a_packed_file_holds_the_same_where_it_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "packed.smkc"
    arrays = {**ARRAYS, "zeros": np.zeros(100_000)}
    model_file.write(path, arrays, HEADER, is_packed=True)
    assert path.stat().st_size < 20_000
    found, header = model_file.read(path, may_be_packed=True)
    assert same_arrays(found, arrays)
    assert header == HEADER
    with pytest.raises(ModelFileError, match="not a model file"):
        model_file.read(path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_packed_file_that_is_cut_or_changed_is_refused(tmp_path: Path, share: float) -> None:
    path = tmp_path / "packed.smkc"
    model_file.write(path, ARRAYS, HEADER, is_packed=True)
    content = path.read_bytes()
    cut = 8 + int(share * (len(content) - 8))
    for damaged in (content[:cut], content[:cut] + b"\x55\xaa" + content[cut + 2 :]):
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"damaged|not a model file"):
            model_file.read(path, may_be_packed=True)
