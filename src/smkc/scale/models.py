"""Models: the detector of each entity, or one for all; kept in files that any worker can load.

In: fitted detectors. Out: the one that an entity is judged by, and a fingerprint of all.
"""

from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np

from smkc.base import BaseDetector
from smkc.errors import InputError
from smkc.loading import load

__all__ = ["Models"]

# The name of the file that holds the one detector for all entities.
ONE_MODEL_FILE = "model.smkc"


class Models:
    """Fitted detectors by entity.

    Parameters
    ----------
    detectors
        one for all entities, or one for each.
    """

    def __init__(self, detectors: BaseDetector | Mapping[str, BaseDetector]) -> None:
        self._one = None if isinstance(detectors, Mapping) else detectors
        self._by_entity = dict(detectors) if isinstance(detectors, Mapping) else {}

    def of(self, entity: str | None) -> BaseDetector:
        """Return the detector that judges an entity; None stands for a source about one."""
        if self._one is not None:
            return self._one
        if entity is None or entity not in self._by_entity:
            raise InputError(
                f"entity {entity!r} is not in the reference; add its data there, or leave it out "
                "of the file"
            )
        return self._by_entity[entity]

    @property
    def is_one(self) -> bool:
        """Whether one detector judges all entities."""
        return self._one is not None

    @property
    def have_independent_windows(self) -> bool:
        """Whether all detectors score each window by itself."""
        detectors = [self._one] if self._one is not None else self._by_entity.values()
        return all(detector.fitted_.has_independent_windows for detector in detectors)

    @cached_property
    def fingerprint(self) -> str:
        """Tell these detectors from others by what they learned and by their settings."""
        digest = sha256()
        all_of_them = {"": self._one} if self._one is not None else self._by_entity
        for entity, detector in sorted(all_of_them.items()):
            arrays, header = detector.fitted_.to_arrays()
            digest.update(repr([entity, detector.kind, detector.get_params(), header]).encode())
            for name in sorted(arrays):
                digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
        return digest.hexdigest()

    # ------------------------------------------------------------------ files

    def save(self, folder: Path) -> None:
        """Write every detector into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        if self._one is not None:
            self._one.save(folder / ONE_MODEL_FILE)
        for entity, detector in self._by_entity.items():
            detector.save(folder / _file_of(entity))

    @classmethod
    def load(cls, folder: Path, entities: tuple[str, ...] | None) -> "Models":
        """Read the detectors of some entities from a folder that :meth:`save` wrote."""
        if (folder / ONE_MODEL_FILE).is_file():
            return cls(load(folder / ONE_MODEL_FILE))
        return cls({entity: load(folder / _file_of(entity)) for entity in entities or ()})


def _file_of(entity: str) -> str:
    return f"{sha256(entity.encode()).hexdigest()[:32]}.smkc"
