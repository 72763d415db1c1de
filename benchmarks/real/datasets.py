"""Datasets of the benchmarks: their sources and licences, and files checked by SHA-256.

In: the name of a dataset, and the environment variable SMKC_DATA, which names the folder that holds
one folder per dataset. Out: its description, and paths of files whose size and SHA-256 agree with
``registry.json`` beside this file. Public datasets are not part of the project; the project's own
recordings are in the folder ``data`` of a checkout.
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
    "EVENTS_FILE",
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

EVENTS_FILE = "events.csv"

# Folder of the project's own recordings in a checkout.
PROJECT_DATA = Path(__file__).resolve().parents[2] / "data"

# Format of the files, for readers who prepare them from the public source.
PREPARED_AS = (
    "Parquet with a column time, a column a variable (null where missing) and a column label"
)


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A file of a dataset, with its expected size and checksum."""

    name: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Files of one labelled recording; ``reference`` is None if it is the start of ``test``."""

    name: str
    test: str
    reference: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One dataset of the registry.

    Parameters
    ----------
    name
        name of the dataset and of its folder.
    what
        what was recorded, in one sentence.
    source, commit, path
        public repository, its commit and the folder in it.
    licence
        licence that the source states.
    is_ranked
        whether the benchmark ``real`` compares methods on it; ``alerts`` reads others too.
    takes_churn
        whether churn is added; other datasets churn by themselves, or have only one variable that
        matters.
    is_contiguous
        whether the test part continues the reference in time.
    vus_window
        largest buffer length, in rows, of the volume under the surface.
    reference_share
        share of a recording used as reference, if there is no reference file.
    notes
        what a reader of the results should know.
    series
        the labelled recordings, in the benchmark's order.
    files
        every file that is read, by name.
    is_beside
        whether the main mean over datasets leaves out its column.
    ships
        whether it is the project's own and is in every checkout, in the folder ``path``.
    share_of_normal
        whether ``reference_share`` is a share of the normal rows instead of all rows.
    time_unit_seconds
        seconds per unit of time, if files count time from 0; None if they have dates.
    service_before
        text after the service in names of variables, such as ``_`` in ``carts_cpu``; empty if
        names contain no service, or have labels.
    folder
        folder of its files, if it was given as a folder instead of a name in the registry.
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

    @property
    def is_labelled(self) -> bool:
        """Whether anomalies are known, so that scores can be measured."""
        return EVENTS_FILE in self.files

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
    """Return the names of the datasets that ``real`` compares methods on, or of all datasets.

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
    """Return the dataset names of comma-separated folders."""
    given = [Path(one.strip()).resolve() for one in (folders or "").split(",") if one.strip()]
    names = [str(one / "dataset" if (one / "dataset").is_dir() else one) for one in given]
    shown = [recording_name(name) for name in names]
    if len(set(shown)) < len(shown):
        raise SettingError(f"{', '.join(shown)}: give folders of different names")
    return names


def recording_name(name: str) -> str:
    """Return a dataset's name in tables; if it was given as a folder, the folder's name.

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
    """Return the sources of datasets, all by default, as text for error messages."""
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
    """Return the path of a dataset's file after checking its size and SHA-256.

    The whole file is read the first time, and again only if it has changed on disk.
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
    """Return the folder of a dataset's files, and advice for error messages about a file."""
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
    """Return the checksum, cached by path, size and modification time."""
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
    """Describe the recordings that ``tools.recorder`` exported to a folder."""
    tests = sorted(Path(folder).glob("*.test.parquet"))
    if not tests:
        raise ReadError(f"{folder} holds no *.test.parquet; let a recording be exported there")
    series = [path.name.removesuffix(".test.parquet") for path in tests]
    files = {}
    for path in [
        *tests,
        *(one.with_name(f"{name}.train.parquet") for one, name in zip(tests, series, strict=True)),
        Path(folder) / EVENTS_FILE,
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
