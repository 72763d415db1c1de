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
from benchmarks.alerts.variants import changed_settings
from benchmarks.bare_code import bare_code
from benchmarks.real import methods as real
from benchmarks.real.series import Series
from smkc.detector import Detector
from smkc.errors import CalibrationWarning, UnscoredWarning

__all__ = ["DEFAULT", "LEFT_OUT", "METHODS", "Method", "detector_code", "method_of", "variant"]

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

# Subpackages that are not part of the default detector. After a change in any other file of smkc,
# the default detector is run again.
NOT_DETECTOR = ("cli", "compat", "doctor", "plot", "scale", "serve")


@dataclass(frozen=True)
class Method:
    """A row of the alert tables: the default detector, or a peer by its key.

    ``changes`` are other settings for the default detector, as text; none by default.
    """

    key: str
    name: str
    changes: str = ""

    @property
    def is_default(self) -> bool:
        """Whether this is the default detector, with its own or with other settings."""
        return self.key not in real.METHODS

    def judge(self, series: Series) -> tuple[NDArray[np.float64], list[FoundAlert]]:
        """Return (T,) scores of the live rows, and the alerts in order of time.

        Variables are named as they were before churn.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnscoredWarning)  # NaN shows it
            warnings.simplefilter("ignore", CalibrationWarning)  # many references are short
            if self.key in real.METHODS:
                peer = real.METHODS[self.key]
                return decide(lambda: peer.make(0), series, MOST_NAMES)
            with changed_settings(self.changes):
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
        """Return everything that determines its results, as text and numbers."""
        if self.key in real.METHODS:
            return real.METHODS[self.key].settings(0)
        settings = {"code": detector_code(), **Detector().get_params()}
        return settings | ({"changes": self.changes} if self.changes else {})


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        DEFAULT: Method(DEFAULT, "smkc, default"),
        **{key: Method(key, real.METHODS[key].name) for key in PEERS},
    }
)


def variant(changes: str) -> Method:
    """Return the default detector with other settings, or without a part."""
    name = changes if "=" not in changes else f"with {changes}"
    return Method(f"{DEFAULT}-{changes}", name, changes)


def method_of(key: str) -> Method:
    """Return the method with this key."""
    return METHODS[key] if key in METHODS else variant(key.removeprefix(f"{DEFAULT}-"))


@cache
def detector_code() -> str:
    """Return a digest of the default detector's source files."""
    package = Path(smkc.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in NOT_DETECTOR:
            digest.update(f"{place.as_posix()}\n{bare_code(path)}".encode())
    return digest.hexdigest()[:16]
