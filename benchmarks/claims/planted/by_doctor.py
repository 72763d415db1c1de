"""Faults of all kinds, planted by ``smkc.doctor`` in files of public datasets.

In: files in the folder that ``SMKC_DATA`` names. Out: counts by kind.
"""

from benchmarks.claims.planted.counts import Count, alerts_of, fitted
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
    recording = read(path)
    found = diagnose(recording, sizes=("large",))
    # As the doctor divides it; alerts of the unchanged rows are false as far as anybody knows.
    live = recording.rows(found.n_reference, found.n_reference + len(found.scores)).canonical()
    detector = fitted(recording.rows(0, found.n_reference).canonical())
    n_false = len(alerts_of(detector, live, explain=False))
    return [
        Count(
            case=f"doctor, {one.kind}",
            part=part,
            found=one.caught,
            of=one.planted,
            named=one.named,
            false_alerts=n_false,
            rows=len(live),
        )
        for one in found.large
    ]
