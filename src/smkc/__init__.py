"""smkc finds anomalies in telemetry whose variables come and go.

>>> import smkc
>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> normal = {"time": np.arange(2000), "cpu": rng.normal(size=2000), "mem": rng.normal(size=2000)}
>>> det = smkc.Detector(window=32, false_alarm_rate=0.01).fit(normal)
>>> today = {"time": np.arange(200), "cpu": rng.normal(size=200), "new": rng.normal(size=200)}
>>> today["cpu"][100:103] = 9
>>> [cause.variable for cause in det.alerts(today)[0].causes][:1]
['cpu']
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from smkc.version import VERSION

if TYPE_CHECKING:
    from smkc.decide import Alert, Cause, Scored, WindowScores
    from smkc.detector import Detector
    from smkc.doctor import Diagnosis, diagnose
    from smkc.loading import load
    from smkc.recording import Identity, Recording
    from smkc.remote import read

__version__ = VERSION

__all__ = [
    "Alert",
    "Cause",
    "Detector",
    "Diagnosis",
    "Identity",
    "Recording",
    "Scored",
    "WindowScores",
    "diagnose",
    "load",
    "read",
]

# Modules are imported on first access, so that ``import smkc`` itself is fast.
_HOME = {
    "Alert": "smkc.decide",
    "Cause": "smkc.decide",
    "Detector": "smkc.detector",
    "Diagnosis": "smkc.doctor",
    "Identity": "smkc.recording",
    "Recording": "smkc.recording",
    "Scored": "smkc.decide",
    "WindowScores": "smkc.decide",
    "diagnose": "smkc.doctor",
    "load": "smkc.loading",
    "read": "smkc.remote",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'smkc' has no attribute {name!r}")
    return getattr(_import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
