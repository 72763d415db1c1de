"""Models: one detector per entity, or one for all; saved to files that any worker can load.

In: fitted detectors. Out: the detector of an entity, and a fingerprint of all detectors.
"""

from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np

from smkc.base import BaseDetector
from smkc.errors import InputError
from smkc.loading import load


class Models:
    """Fitted detectors: one for all entities, or one for each."""

    def __init__(self, detectors: BaseDetector | Mapping[str, BaseDetector]) -> None:
        # The detector for all entities has the key None.
        self._detectors: dict[str | None, BaseDetector] = {}
        if isinstance(detectors, Mapping):
            self._detectors.update(detectors.items())
        else:
            self._detectors[None] = detectors

    def of(self, entity: str | None) -> BaseDetector:
        """Return the detector of an entity; None for a source without entities."""
        found = self._detectors.get(None) or self._detectors.get(entity)
        if found is None:
            raise InputError(
                f"entity {entity!r} is not in the reference; add its data there, or leave it out "
                "of the file"
            )
        return found

    @cached_property
    def fingerprint(self) -> str:
        """Text that identifies the detectors by what they learned and by their settings."""
        digest = sha256()
        for entity, detector in sorted(self._detectors.items(), key=lambda item: item[0] or ""):
            arrays, header = detector.fitted_.to_arrays()
            digest.update(repr([entity, detector.kind, detector.get_params(), header]).encode())
            for name in sorted(arrays):
                digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
        return digest.hexdigest()

    # ------------------------------------------------------------------ files

    def save(self, folder: Path) -> None:
        """Write every detector into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for entity, detector in self._detectors.items():
            detector.save(folder / _file_of(entity))

    @classmethod
    def load(cls, folder: Path, entities: tuple[str, ...] | None) -> "Models":
        """Read the detectors of some entities from a folder that :meth:`save` wrote."""
        one = folder / _file_of(None)
        if one.is_file():
            return cls(load(one))
        return cls({entity: load(folder / _file_of(entity)) for entity in entities or ()})


def _file_of(entity: str | None) -> str:
    name = "model" if entity is None else sha256(entity.encode()).hexdigest()[:32]
    return f"{name}.smkc"
