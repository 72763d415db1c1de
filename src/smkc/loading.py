"""Detectors by kind, made from settings or loaded from a model file.

In: a kind and settings, or a path. Out: a detector, or an error that says what is wrong.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from smkc import model_file
from smkc.base import BaseDetector, check_choice
from smkc.decide import Learned
from smkc.errors import ModelFileError
from smkc.recording import Identity

DEFAULT_KIND = "evidence"

# Module and class of each kind of detector; imported on first use.
KINDS = {
    "evidence": ("smkc.detector", "Detector"),
    "knn": ("smkc.paper.detectors", "KnnDetector"),
    "recon": ("smkc.paper.detectors", "ReconDetector"),
    "prediction": ("smkc.paper.detectors", "PredictionDetector"),
    "ensemble": ("smkc.paper.detectors", "EnsembleDetector"),
}


def detector_class(kind: str) -> type[BaseDetector]:
    """Return the class of a kind of detector.

    Examples
    --------
    >>> detector_class("knn").__name__
    'KnnDetector'
    """
    check_choice("detector", kind, tuple(KINDS))
    module, name = KINDS[kind]
    found: type[BaseDetector] = getattr(import_module(module), name)
    return found


def make_detector(settings: Mapping[str, Any]) -> BaseDetector:
    """Make a detector from settings by name; the setting ``detector`` is the kind.

    Examples
    --------
    >>> make_detector({"detector": "knn", "window": 32}).window
    32
    """
    own = dict(settings)
    return detector_class(own.pop("detector", DEFAULT_KIND))(**own)


def load(path: str | Path, device: str | None = None) -> BaseDetector:
    """Load a detector from a file written by its ``save`` method.

    Parameters
    ----------
    path
        the model file.
    device
        device on which one of the paper's detectors scores; by default the one it was trained on
        if this machine has it, else the CPU.
    """
    arrays, header = model_file.read(path)
    try:
        if header["kind"] != "detector":
            raise ModelFileError(f"it holds a {header['kind']!r}, not a detector")
        settings = _settings(header["settings"])
        detector = detector_class(settings.pop("detector"))(**settings)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _unusable(path, error) from None
    detector.place(device)
    try:
        restored = detector._empty().restored(arrays, header)
        learned = Learned.from_dict(header["learned"]) if "learned" in header else None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _unusable(path, error) from None
    detector._take(restored, learned)
    return detector


def _settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a file in the types that detectors take."""
    settings = dict(stored)
    if settings["identity"] is not None:
        rule = settings["identity"]
        settings["identity"] = Identity(drop=tuple(rule["drop"]), pattern=rule["pattern"])
    for name in ("rules", "holidays"):
        if name in settings:
            settings[name] = tuple(settings[name])
    return settings


def _unusable(path: str | Path, error: Exception) -> ModelFileError:
    return ModelFileError(f"{path} is no usable detector: {error}; fit again and save it anew")
