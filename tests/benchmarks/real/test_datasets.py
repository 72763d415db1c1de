import hashlib
import os
import re
import shutil
from dataclasses import replace

import pytest
from tests.benchmarks.real.made_up import described, two_part_dataset

from benchmarks.real import datasets
from benchmarks.real.datasets import (
    checked_file,
    data_folder,
    dataset,
    dataset_names,
    public_sources,
)
from smkc.errors import ReadError, SettingError

needs_data = pytest.mark.skipif(
    not os.environ.get("SMKC_DATA"),
    reason="SMKC_DATA is not set; public sources: " + public_sources(),
)


@pytest.fixture
def about(tmp_path, monkeypatch):
    monkeypatch.setenv("SMKC_DATA", str(tmp_path))
    return two_part_dataset(tmp_path)


def test_every_dataset_says_where_it_comes_from_and_what_may_be_done_with_it():
    assert len(dataset_names(ranked=False)) == 24
    for name in dataset_names(ranked=False):
        about = dataset(name)
        assert about.name == name
        if about.ships:
            assert about.path == f"data/{name}"
        else:
            assert about.source.startswith("https://")
            assert re.fullmatch(r"[0-9a-f]{8,12}", about.commit)
        assert about.licence
        assert about.what
        assert about.path
        assert about.series


def test_every_file_has_a_checksum_and_every_recording_its_files():
    for name in dataset_names(ranked=False):
        about = dataset(name)
        used = {parts.test for parts in about.series}
        used |= {parts.reference for parts in about.series if parts.reference}
        used |= {"routine.csv"} if about.ships else set()
        assert used | {"events.csv"} == set(about.files) | {"events.csv"}
        assert len({parts.name for parts in about.series}) == len(about.series)
        for file in about.files.values():
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.n_bytes > 0
        has_share = about.reference_share is not None
        assert all((parts.reference is None) == has_share for parts in about.series)


def test_churn_is_added_where_the_data_have_none_of_their_own():
    assert [n for n in dataset_names() if dataset(n).takes_churn] == ["smd", "asd", "skab"]
    windows = {n: dataset(n).vus_window for n in dataset_names()}
    assert {n: w for n, w in windows.items() if w != 100} == {
        "nezha": 10,
        "petshop": 4,
        "cloudmon": 20,
        "hostwatch": 30,
    }


def test_an_unknown_dataset_or_recording_is_named_with_those_there_are(about):
    with pytest.raises(SettingError, match=r"no dataset 'smdd'; choose one of smd, asd"):
        dataset("smdd")
    with pytest.raises(SettingError, match=r"'made-up' has no recording 'bax'; .* box"):
        about.parts("bax")
    with pytest.raises(SettingError, match=r"no file 'x.parquet'; .* box.test.parquet"):
        checked_file(about, "x.parquet")


def test_without_the_variable_the_message_says_what_to_set_and_where_data_are(monkeypatch):
    monkeypatch.delenv("SMKC_DATA", raising=False)
    with pytest.raises(ReadError, match=r"SMKC_DATA is not set.*github.com/zhhlee/InterFusion"):
        data_folder()
    monkeypatch.setenv("SMKC_DATA", "")
    with pytest.raises(ReadError, match="SMKC_DATA is not set"):
        data_folder()


def test_a_variable_that_names_no_folder_is_said_to(monkeypatch, tmp_path):
    monkeypatch.setenv("SMKC_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ReadError, match=r"SMKC_DATA=.*nowhere is not a folder.*github.com"):
        data_folder()


def test_the_right_file_is_found(about, tmp_path):
    found = checked_file(about, "box.test.parquet")
    assert found == tmp_path / "made-up" / "box.test.parquet"


def _remedy(error, file):
    text = str(error.value)
    assert file in text
    assert "https://example.org/made-up at 0123456789ab, folder data" in text
    assert "SMKC_DATA=" in text
    return text


def test_a_missing_file_is_an_error_that_names_it_its_source_and_the_variable(about, tmp_path):
    (tmp_path / "made-up" / "box.test.parquet").unlink()
    with pytest.raises(ReadError, match="is missing") as error:
        checked_file(about, "box.test.parquet")
    _remedy(error, "box.test.parquet")


def test_a_missing_folder_is_an_error_too(about, tmp_path):
    (tmp_path / "made-up").rename(tmp_path / "elsewhere")
    with pytest.raises(ReadError, match="is missing") as error:
        checked_file(about, "box.test.parquet")
    _remedy(error, "made-up")


def test_a_truncated_file_is_an_error(about, tmp_path):
    path = tmp_path / "made-up" / "box.test.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:-100])
    with pytest.raises(ReadError, match="cut short") as error:
        checked_file(about, "box.test.parquet")
    assert f"{len(content):,}" in _remedy(error, "box.test.parquet")
    path.write_bytes(content + b"more")
    with pytest.raises(ReadError, match="bytes where") as error:
        checked_file(about, "box.test.parquet")
    assert "cut short" not in str(error.value)


def test_a_changed_byte_is_an_error_even_after_the_file_was_found_right(about, tmp_path):
    path = tmp_path / "made-up" / "box.test.parquet"
    checked_file(about, "box.test.parquet")
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    before = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    with pytest.raises(ReadError, match="SHA-256") as error:
        checked_file(about, "box.test.parquet")
    text = _remedy(error, "box.test.parquet")
    assert hashlib.sha256(content).hexdigest() in text
    assert about.files["box.test.parquet"].sha256 in text


def test_a_folder_in_the_place_of_a_file_is_an_error(about, tmp_path):
    path = tmp_path / "made-up" / "box.test.parquet"
    path.unlink()
    path.mkdir()
    with pytest.raises(ReadError) as error:
        checked_file(about, "box.test.parquet")
    _remedy(error, "box.test.parquet")


def test_a_file_is_read_for_its_checksum_once(about):
    datasets._sha256.cache_clear()
    for _ in range(3):
        checked_file(about, "box.test.parquet")
    assert datasets._sha256.cache_info().misses == 1


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A dataset that comes with the project, in the checkout's folder."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    monkeypatch.setattr(datasets, "PROJECT_DATA", folder)
    monkeypatch.delenv("SMKC_DATA", raising=False)
    about = two_part_dataset(folder)
    return replace(about, ships=True, source="the project's source", path="data/made-up")


def test_data_of_the_project_are_found_in_its_checkout_without_a_variable(own, tmp_path):
    expected = tmp_path / "checkout" / "made-up" / "box.test.parquet"
    assert checked_file(own, "box.test.parquet") == expected


def test_a_folder_of_data_without_the_projects_own_does_not_hide_them(own, tmp_path, monkeypatch):
    (tmp_path / "others").mkdir()
    for value in ("others", "nowhere"):
        monkeypatch.setenv("SMKC_DATA", str(tmp_path / value))
        assert checked_file(own, "box.test.parquet").parent.parent.name == "checkout"


def test_a_copy_in_the_folder_of_data_comes_first(own, tmp_path, monkeypatch):
    monkeypatch.setenv("SMKC_DATA", str(tmp_path / "copies"))
    shutil.copytree(tmp_path / "checkout", tmp_path / "copies")
    assert checked_file(own, "box.test.parquet").parent.parent.name == "copies"
    (tmp_path / "copies" / "made-up" / "box.test.parquet").unlink()
    with pytest.raises(ReadError, match=r"copies.* is missing"):
        checked_file(own, "box.test.parquet")


def test_without_a_checkout_the_message_says_where_the_projects_data_are(own, monkeypatch):
    monkeypatch.setattr(datasets, "PROJECT_DATA", datasets.PROJECT_DATA / "nowhere")
    with pytest.raises(ReadError, match="is missing") as error:
        checked_file(own, "box.test.parquet")
    assert "comes with the project's source, in the folder data/made-up" in str(error.value)
    assert "SMKC_DATA names" in str(error.value)


@needs_data
@pytest.mark.parametrize("name", dataset_names(ranked=False))
def test_the_data_at_hand_are_those_of_the_registry(name):
    about = dataset(name)
    for file in about.files:
        assert described(checked_file(about, file)) == about.files[file]
