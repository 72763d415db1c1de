"""Worker: the work of one process of a cluster, with a cache of loaded models.

In: a source and entities, or windows. Out: parts on disk, or scores. This module does not depend on
Ray.
"""

import os
import socket
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Windows
from smkc.scale.block import Block, ScaleSettings
from smkc.scale.models import Models
from smkc.scale.source import Source
from smkc.scale.work import Progress


class Worker:
    """One process of a cluster; it uses 1 thread, since other workers share the machine."""

    def __init__(self) -> None:
        os.environ["SMKC_THREADS"] = "1"
        os.environ["SMKC_PROGRESS"] = "0"
        self._models: dict[tuple[Path, tuple[str, ...] | None], Models] = {}

    def whoami(self) -> str:
        """Return the machine and the process id."""
        return f"{socket.gethostname()}:{os.getpid()}"

    def run_block(
        self,
        source: Source,
        models: Path,
        entities: tuple[str, ...] | None,
        folder: Path,
        settings: ScaleSettings,
    ) -> Progress:
        """Score a block of entities into its folder; continue from its saved progress."""
        loaded = self._loaded(models, entities)
        return Block(source, loaded, folder, settings).run(entities)

    def score_windows(
        self, models: Path, entity: str | None, windows: Windows
    ) -> NDArray[np.float64]:
        """Return (B,) scores of the windows of a time range, whose rows are already scaled."""
        about = None if entity is None else (entity,)
        detector = self._loaded(models, about).of(entity)
        # Memory that processes share is read-only, so the arrays are copied.
        return detector.fitted_.scan().score(deepcopy(windows))

    def call(self, work: Callable[..., Any], common: Any, *stretch: Any) -> Any:
        """Return the result of a function of one stretch of reference data."""
        return work(common, *deepcopy(stretch))

    def _loaded(self, folder: Path, entities: tuple[str, ...] | None) -> Models:
        known = self._models.get((folder, None)) or self._models.get((folder, entities))
        if known is None:
            known = Models.load(folder, entities)
            self._models[folder, None if known.is_one else entities] = known
        return known
