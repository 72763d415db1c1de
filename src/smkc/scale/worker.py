"""Worker: what one process of a cluster does, holding the models it has loaded.

In: a source and entities, or windows. Out: parts on disk, or scores. Nothing here knows of Ray.
"""

import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.fitted import Fitted
from smkc.recording import Recording
from smkc.scale.block import run_block
from smkc.scale.models import Models
from smkc.scale.scoring import Windows, score_windows
from smkc.scale.settings import ScaleSettings
from smkc.scale.source import Source
from smkc.scale.work import Progress

__all__ = ["Worker"]


class Worker:
    """One process of a cluster; it uses one thread, since there are others beside it."""

    def __init__(self) -> None:
        os.environ["SMKC_THREADS"] = "1"
        os.environ["SMKC_PROGRESS"] = "0"
        self._models: dict[tuple[Path, tuple[str, ...] | None], Models] = {}

    def whoami(self) -> str:
        """Return the machine and the process, as progress files name them."""
        return f"{socket.gethostname()}:{os.getpid()}"

    def run_block(
        self,
        source: Source,
        models: Path,
        entities: tuple[str, ...] | None,
        folder: Path,
        settings: ScaleSettings,
    ) -> Progress:
        """Score a block of entities into its folder, from wherever it stood."""
        return run_block(source, self._loaded(models, entities), entities, folder, settings)

    def score_windows(
        self,
        models: Path,
        entity: str | None,
        arrays: tuple[NDArray[Any], ...],
        names: tuple[str, ...],
        starts: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """(B,) scores of the windows of a time range, of rows that are scaled already."""
        about = None if entity is None else (entity,)
        fitted = self._loaded(models, about).of(entity).fitted_
        assert isinstance(fitted, Fitted)
        times, indptr, codes, values = (
            np.array(array) for array in arrays
        )  # shared ones are sealed
        prepared = Recording(times, indptr, codes, values, names)
        windows = Windows(prepared=prepared, starts=np.array(starts))
        return score_windows(fitted.density, windows)

    def _loaded(self, folder: Path, entities: tuple[str, ...] | None) -> Models:
        known = self._models.get((folder, None)) or self._models.get((folder, entities))
        if known is None:
            known = Models.load(folder, entities)
            self._models[folder, None if known.is_one else entities] = known
        return known
