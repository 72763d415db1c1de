"""The rows of the alert tables: the default detector and its peers, and how each raises alerts.

In: a method's key and a recording. Out: the method's score of each live row, and its alerts.
"""

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import smkc
from benchmarks.alerts.calibrated import decide
from benchmarks.alerts.measures import FoundAlert
from benchmarks.real import methods as real
from benchmarks.real.series import Series
from smkc.detector import Detector
from smkc.errors import CalibrationWarning, UnscoredWarning

__all__ = ["DEFAULT", "LEFT_OUT", "METHODS", "Method", "detector_code"]

DEFAULT = "default"

# Peers of the real-data benchmark that score all recordings in seconds to a few minutes.
PEERS = (
    "random",
    "plain-z",
    "robust-z-mean",
    "robust-z-max",
    "pca",
    "isolation-forest",
    "windowed-knn",
)
LEFT_OUT = tuple(key for key in real.METHODS if key not in (*PEERS, "smkc-evidence"))

# Number of variables kept per alert; the tables use the first three.
MOST_NAMES = 3

# No part of the default detector. When any other file of the package changes, the saved alerts of
# the default are made anew.
NOT_DETECTOR = ("cli", "compat", "doctor", "plot", "scale", "serve")


@dataclass(frozen=True)
class Method:
    """A row of the alert tables: the default detector, or a peer by its key."""

    key: str
    name: str

    def judge(self, series: Series) -> tuple[NDArray[np.float64], list[FoundAlert]]:
        """Return (T,) scores of the live rows, and the alerts in order of time.

        Variables are named as they were before churn.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnscoredWarning)  # NaN says it
            warnings.simplefilter("ignore", CalibrationWarning)  # short references are many
            if self.key != DEFAULT:
                peer = real.METHODS[self.key]
                return decide(lambda: peer.make(0), series, MOST_NAMES)
            scored = Detector().fit(series.reference).score(series.test)
            alerts = scored.alerts()
        return scored.scores, [
            FoundAlert(
                alert.first_row,
                alert.last_row,
                series.origins_of([cause.variable for cause in alert.causes])[:MOST_NAMES],
            )
            for alert in alerts
        ]

    def settings(self) -> dict[str, Any]:
        """Return all that decides what it does, as text and numbers."""
        if self.key == DEFAULT:
            return {"code": detector_code(), **Detector().get_params()}
        return real.METHODS[self.key].settings(0)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        DEFAULT: Method(DEFAULT, "smkc, default"),
        **{key: Method(key, real.METHODS[key].name) for key in PEERS},
    }
)


@cache
def detector_code() -> str:
    """Return a digest of the default detector's source files."""
    package = Path(smkc.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in NOT_DETECTOR:
            digest.update(place.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]
