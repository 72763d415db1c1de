"""Detectors by the name of their kind: from settings, or from a model file.

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

__all__ = ["KINDS", "detector_class", "load", "make_detector"]

DEFAULT_KIND = "evidence"

# Where each kind of detector lives; imported when asked for.
KINDS = {
    "evidence": ("smkc.detector", "Detector"),
    "knn": ("smkc.paper.detectors", "KnnDetector"),
    "recon": ("smkc.paper.detectors", "ReconDetector"),
    "prediction": ("smkc.paper.detectors", "PredictionDetector"),
    "ensemble": ("smkc.paper.detectors", "EnsembleDetector"),
}

# Settings in files written before each kind had a class of its own: all kinds had all of these,
# and those that a kind has no use for were at their defaults.
SETTINGS_OF_ALL = {
    "stride", "representation", "buckets", "presence", "saturate", "normalise", "components",
    "neighbours", "reference_size", "scaling", "least_filled", "seed", "device", "epochs", "learn",
}  # fmt: skip


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
    """Make a detector from settings by name, of which ``detector`` says the kind.

    Examples
    --------
    >>> make_detector({"detector": "knn", "window": 32}).window
    32
    """
    own = dict(settings)
    return detector_class(own.pop("detector", DEFAULT_KIND))(**own)


def load(path: str | Path, device: str | None = None) -> BaseDetector:
    """Read a detector that its ``save`` wrote.

    Parameters
    ----------
    path
        the model file.
    device
        where a detector of the paper shall score; by default where it was trained, if that device
        is here, and else on the CPU.
    """
    arrays, header = model_file.read(path)
    try:
        if header["kind"] != "detector":
            raise ModelFileError(f"it holds a {header['kind']!r}, not a detector")
        detector = make_detector(_settings(header["settings"]))
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
    """Return settings from a file, of any version of this library that wrote the same format."""
    settings = dict(stored)
    kind = settings["detector"]
    if settings["identity"] is not None:
        rule = settings["identity"]
        settings["identity"] = Identity(drop=tuple(rule["drop"]), pattern=rule["pattern"])
    if "rules" in settings:
        settings["rules"] = tuple(settings["rules"])
    known = detector_class(kind).setting_names()
    for name in SETTINGS_OF_ALL - set(known):
        settings.pop(name, None)
    if kind != DEFAULT_KIND and settings["window"] == "auto":
        settings["window"] = detector_class(kind)().get_params()["window"]
    if "learn" in known and settings["representation"] == "log3 band(8)":
        settings["representation"] = "full image"  # as it was read before
    return settings


def _unusable(path: str | Path, error: Exception) -> ModelFileError:
    return ModelFileError(f"{path} is no usable detector: {error}; fit again and save it anew")
