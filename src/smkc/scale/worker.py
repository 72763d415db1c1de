"""Worker: what one process of a cluster does, holding the models it has loaded.

In: a source and entities, or windows. Out: parts on disk, or scores. Nothing here knows of Ray.
"""

import os
import socket
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Calibration, Windows
from smkc.paper.fitted import KernelFitted
from smkc.recording import Recording
from smkc.scale.block import run_block
from smkc.scale.fitting import Stretch, calibrated, learned_apart
from smkc.scale.models import Models
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
        prepared: Recording,
        starts: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """(B,) scores of the windows of a time range, of rows that are scaled already."""
        about = None if entity is None else (entity,)
        windows = Windows(prepared=_own(prepared), starts=np.array(starts))
        return self._loaded(models, about).of(entity).fitted_.scan().score(windows)

    def learn(self, empty: KernelFitted, prepared: Recording) -> Stretch:
        """Learn from one stretch of reference data by itself."""
        return learned_apart(empty, _own(prepared))

    def calibrate(
        self, fitted: KernelFitted, prepared: Recording, rows: NDArray[np.int64]
    ) -> tuple[Calibration, Calibration]:
        """Return what normal scores look like in one stretch of reference data."""
        return calibrated(fitted, _own(prepared), np.array(rows))

    def _loaded(self, folder: Path, entities: tuple[str, ...] | None) -> Models:
        known = self._models.get((folder, None)) or self._models.get((folder, entities))
        if known is None:
            known = Models.load(folder, entities)
            self._models[folder, None if known.is_one else entities] = known
        return known


def _own(recording: Recording) -> Recording:
    """Return the same rows in memory of their own: what processes share cannot be written to."""
    return Recording(
        np.array(recording.times),
        np.array(recording.indptr),
        np.array(recording.codes),
        np.array(recording.values),
        recording.names,
    )
