"""Datasets: what the real-data benchmark reads, where it comes from, and that it is what it was.

In: the name of a dataset, and the environment variable SMKC_DATA, which names the folder that holds
a folder for each. Out: its description, and paths of files whose size and SHA-256 agree with
``registry.json`` beside this file. The data of others are no part of the project; its own recording
lies in the folder data of its checkout.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from smkc.errors import ReadError, SettingError

__all__ = [
    "DATA_VARIABLE",
    "DataFile",
    "Dataset",
    "Parts",
    "checked_file",
    "data_folder",
    "dataset",
    "dataset_names",
    "public_sources",
    "recording_name",
    "recording_names",
]

DATA_VARIABLE = "SMKC_DATA"

# Where a checkout of the project holds its own data.
PROJECT_DATA = Path(__file__).resolve().parents[2] / "data"

# What a file of a dataset has to look like, for somebody who makes it from the public source.
PREPARED_AS = (
    "Parquet with a column time, a column a variable (null where missing) and a column label"
)


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A file of a dataset, and how to tell that it is the right one."""

    name: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The files of one labelled recording; without a reference the test part's start serves."""

    name: str
    test: str
    reference: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One dataset of the registry.

    Parameters
    ----------
    name
        the folder that holds it.
    what
        what was recorded, in a sentence.
    source, commit, path
        the public repository, its commit and the folder in it.
    licence
        what the source says of its use.
    is_ranked
        whether the benchmark ``real`` compares methods on it; ``alerts`` reads others too.
    takes_churn
        whether churn is added; the others churn by themselves or have one variable that counts.
    is_contiguous
        whether the test part follows on the reference in time.
    vus_window
        the longest buffer, in rows, of the volume under the surface.
    reference_share
        the share of a recording that is its reference, where it has none of its own.
    notes
        what a reader of the results should know.
    series
        the labelled recordings, in the benchmark's order.
    files
        every file that is read, by name.
    is_beside
        whether it has a column of its own that the mean over datasets leaves out.
    ships
        whether it is the project's own and comes with its checkout, in the folder ``path``.
    share_of_normal
        whether ``reference_share`` is a share of the normal rows instead of all rows.
    time_unit_seconds
        seconds per unit of time, where files count time from 0; None where they have dates.
    service_before
        what ends the name of a service in names of variables, such as ``_`` in ``carts_cpu``;
        empty where names have no such part, or have labels.
    folder
        where its files are, if it is no dataset of the registry but was given as a folder.
    """

    name: str
    what: str
    source: str
    commit: str
    path: str
    licence: str
    is_ranked: bool
    takes_churn: bool
    is_contiguous: bool
    vus_window: int
    reference_share: float | None
    notes: tuple[str, ...]
    series: tuple[Parts, ...]
    files: Mapping[str, DataFile]
    is_beside: bool = False
    ships: bool = False
    share_of_normal: bool = False
    time_unit_seconds: float | None = None
    service_before: str = ""
    folder: str = ""

    def parts(self, series: str) -> Parts:
        """Return the files of one recording."""
        for parts in self.series:
            if parts.name == series:
                return parts
        raise SettingError(
            f"the dataset {self.name!r} has no recording {series!r}; choose one of "
            f"{', '.join(parts.name for parts in self.series)}"
        )


def dataset_names(*, ranked: bool = True) -> tuple[str, ...]:
    """Return the names of the datasets that methods are compared on, or of all.

    Examples
    --------
    >>> dataset_names()
    ('smd', 'asd', 'skab', 'nezha', 'lro', 'petshop', 'nasa', 'cloudmon',
     'hostwatch')
    """
    return tuple(one.name for one in _registry().values() if one.is_ranked or not ranked)


def dataset(name: str) -> Dataset:
    """Return a dataset's description, by its name in the registry or by its folder.

    Examples
    --------
    >>> dataset("smd").licence, len(dataset("smd").series)
    ('MIT', 4)
    """
    if _is_folder(name):
        return _from_folder(name)
    if name not in _registry():
        raise SettingError(f"there is no dataset {name!r}; choose one of {', '.join(_registry())}")
    return _registry()[name]


def recording_names(folders: str | None) -> list[str]:
    """Return the names of the datasets in folders that are separated by commas."""
    given = [Path(one.strip()).resolve() for one in (folders or "").split(",") if one.strip()]
    names = [str(one / "dataset" if (one / "dataset").is_dir() else one) for one in given]
    shown = [recording_name(name) for name in names]
    if len(set(shown)) < len(shown):
        raise SettingError(f"{', '.join(shown)}: give folders of different names")
    return names


def recording_name(name: str) -> str:
    """Return what a dataset is called in tables: of one given as a folder, the folder's last part.

    Examples
    --------
    >>> recording_name("/recordings/shop-1/dataset"), recording_name("smd")
    ('shop-1', 'smd')
    """
    if not _is_folder(name):
        return name
    path = Path(name)
    return path.parent.name if path.name == "dataset" else path.name


def public_sources(*names: str) -> str:
    """Say where datasets come from, all of them by default: what a message tells who lacks them."""
    chosen = [dataset(name) for name in names or _registry()]
    return "; ".join(f"{one.name}: {one.source}, folder {one.path}" for one in chosen)


def data_folder() -> Path:
    """Return the folder that SMKC_DATA names."""
    value = os.environ.get(DATA_VARIABLE, "")
    if not value:
        raise ReadError(
            f"the environment variable {DATA_VARIABLE} is not set; let it name a folder that holds "
            f"a folder for each dataset. Public sources: {public_sources()}"
        )
    folder = Path(value)
    if not folder.is_dir():
        raise ReadError(
            f"{DATA_VARIABLE}={value} is not a folder; let it name one that holds a folder for "
            f"each dataset. Public sources: {public_sources()}"
        )
    return folder


def checked_file(about: Dataset, file: str) -> Path:
    """Return the path of a dataset's file, once its size and SHA-256 are seen to be right.

    A file is read in full for that the first time, and again only if it has changed on disk.
    """
    if file not in about.files:
        raise SettingError(
            f"the dataset {about.name!r} has no file {file!r}; choose one of "
            f"{', '.join(about.files)}"
        )
    expected = about.files[file]
    folder, remedy = _place(about, file)
    path = folder / file
    try:
        status = path.stat()
        if status.st_size != expected.n_bytes:
            is_short = status.st_size < expected.n_bytes
            raise ReadError(
                f"{path} has {status.st_size:,} bytes where {expected.n_bytes:,} belong"
                f"{': it was cut short' if is_short else ''}. {remedy}"
            )
        found = _sha256(path, status.st_size, status.st_mtime_ns)
    except FileNotFoundError:
        raise ReadError(f"{path} is missing. {remedy}") from None
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror}. {remedy}") from error
    if found != expected.sha256:
        raise ReadError(
            f"{path} is not the file that the benchmark was made with: its SHA-256 is {found} "
            f"where {expected.sha256} belongs. {remedy}"
        )
    return path


def _place(about: Dataset, file: str) -> tuple[Path, str]:
    """Return the folder of a dataset's files, and what to do about one that is not right there."""
    if about.folder:
        return Path(about.folder), "Export the recording again: python -m tools.recorder export"
    given = os.environ.get(DATA_VARIABLE, "")
    if about.ships:
        folder = Path(given) / about.name
        return folder if given and folder.is_dir() else PROJECT_DATA / about.name, (
            f"{file} comes with {about.source}, in the folder {about.path}; run from a checkout, "
            f"or copy that folder into one that the environment variable {DATA_VARIABLE} names"
        )
    folder = data_folder()
    return folder / about.name, (
        f"{file} belongs in the folder {about.name} of {DATA_VARIABLE}={folder}; public source: "
        f"{about.source} at {about.commit}, folder {about.path}, prepared as {PREPARED_AS}"
    )


@lru_cache(maxsize=4096)
def _sha256(path: Path, n_bytes: int, changed: int) -> str:
    """Return the checksum; size and time of change are the key under which it is remembered."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _registry() -> Mapping[str, Dataset]:
    text = Path(__file__).with_name("registry.json").read_text(encoding="utf-8")
    return {entry["name"]: _from_entry(entry) for entry in json.loads(text)["datasets"]}


def _from_entry(entry: Mapping[str, Any]) -> Dataset:
    files = {
        name: DataFile(name=name, n_bytes=about["bytes"], sha256=about["sha256"])
        for name, about in entry["files"].items()
    }
    rest = {
        "notes": tuple(entry["notes"]),
        "series": tuple(Parts(**parts) for parts in entry["series"]),
        "files": files,
    }
    return Dataset(**{**entry, **rest})


def _is_folder(name: str) -> bool:
    return os.sep in name


@cache
def _from_folder(folder: str) -> Dataset:
    """Describe the recordings in a folder that ``tools.recorder`` has exported."""
    tests = sorted(Path(folder).glob("*.test.parquet"))
    if not tests:
        raise ReadError(f"{folder} holds no *.test.parquet; let a recording be exported there")
    series = [path.name.removesuffix(".test.parquet") for path in tests]
    files = {}
    for path in [
        *tests,
        *(one.with_name(f"{name}.train.parquet") for one, name in zip(tests, series, strict=True)),
        Path(folder) / "events.csv",
    ]:
        if not path.is_file():
            raise ReadError(f"{path} is missing; let the recording be exported again")
        status = path.stat()
        digest = _sha256(path, status.st_size, status.st_mtime_ns)
        files[path.name] = DataFile(name=path.name, n_bytes=status.st_size, sha256=digest)
    return Dataset(
        name=recording_name(folder),
        what="A recording made by tools.recorder",
        source="tools.recorder",
        commit="",
        path=folder,
        licence="CC0-1.0",
        is_ranked=False,
        takes_churn=False,
        is_contiguous=True,
        vus_window=30,
        reference_share=None,
        notes=(),
        series=tuple(
            Parts(name=name, test=f"{name}.test.parquet", reference=f"{name}.train.parquet")
            for name in series
        ),
        files=files,
        folder=folder,
    )
