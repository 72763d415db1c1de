"""Faults of all kinds, planted by ``smkc.doctor`` in files of public datasets.

In: files in the folder that ``SMKC_DATA`` names. Out: counts by kind.
"""

from benchmarks.claims.planted.counts import Count
from benchmarks.real.datasets import data_folder
from smkc.doctor import diagnose
from smkc.errors import ReadError
from smkc.recording import read

__all__ = ["DOCTOR_FILES", "doctor"]

# Files without labelled faults, or with the fewest of their dataset.
DOCTOR_FILES = ("smd/machine-2-1.train", "skab/anomaly-free.train", "lro/net2019.train")


def doctor(part: str) -> list[Count]:
    """Let the doctor plant 8 large faults of each kind in one of the ``DOCTOR_FILES``."""
    path = data_folder() / f"{part}.parquet"
    if not path.is_file():
        raise ReadError(f"{path} is missing; the dataset is described in benchmarks/real")
    found = diagnose(read(path), sizes=("large",))
    quiet = found.untouched
    return [
        Count(
            case=f"doctor, {one.kind}",
            part=part,
            found=one.caught,
            of=one.planted,
            named=one.named,
            false_alerts=None if quiet is None else quiet.episodes,
            rows=None if quiet is None else quiet.rows,
        )
        for one in found.large
    ]
