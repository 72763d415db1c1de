"""Cluster: the blocks of a run, or its time ranges, side by side on Ray's workers.

In: the same as for one machine, and perhaps a cluster's address. Out: the same file; a worker
that is lost is replaced and its work done again from where it stood.
"""

import logging
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.base import BaseDetector
from smkc.decide import Calibration, Windows
from smkc.errors import MissingExtraError, SettingError, SmkcError, install_command
from smkc.paper.fitted import KernelFitted
from smkc.recording import Recording
from smkc.scale.block import run_block
from smkc.scale.fitting import MAX_SAMPLED_OBSERVATIONS, Stretch, fit_file
from smkc.scale.models import Models
from smkc.scale.run import Run, Summary
from smkc.scale.settings import ScaleSettings
from smkc.scale.work import write_json
from smkc.scale.worker import Worker

__all__ = ["RayCluster"]

# How often a worker may be lost before its work is given up.
MOST_LOSSES = 5

# Memory that workers share, for time ranges under way; Ray would take 30% of the machine.
STORE_BYTES = 256 * 2**20

# Seconds that workers may take to start.
START_SECONDS = 180

# Seconds between two looks at how far blocks have come.
LOOK_EVERY = 0.5

# Time ranges under way for each worker: one that is worked on, one that waits.
AHEAD = 2

# What Ray reads from the environment when it starts: it sends no statistics.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # of workers whose answer is no longer asked for
}


class RayCluster:
    """Workers on Ray: of a cluster at an address, or started here for as long as this is open.

    Parameters
    ----------
    workers
        how many; by default one for each processor of the cluster.
    address
        of a cluster that runs already, ``auto`` for the one on this machine; by default one is
        started here and stopped at the end.

    Notes
    -----
    All machines must see the source and the folder of the output under the same path.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        if workers is not None and workers < 1:
            raise SettingError(f"workers={workers!r}: give at least 1")
        self._wanted = workers
        self._address = address

    def __enter__(self) -> "RayCluster":
        self._ray = _ray()
        self._is_ours = not self._ray.is_initialized()
        self._folder: str | None = None
        self._on_terminate: Any = None
        if self._is_ours:
            self._connect()
        try:
            self._start_workers()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop_workers()
        self._leave()

    @property
    def n_workers(self) -> int:
        """How many workers there are."""
        return len(self._workers)

    def score_file(
        self,
        path: str | Path,
        detectors: BaseDetector | Mapping[str, BaseDetector],
        out: str | Path,
        *,
        read: Mapping[str, Any] | None = None,
        entity: str | None = None,
        settings: ScaleSettings | None = None,
        resume: bool = False,
    ) -> Summary:
        """Score Parquet files on the workers; the arguments are those of ``scale.score_file``.

        Blocks are entities, read and scored by one worker each. Where there are fewer entities
        than workers, detectors that score each window by itself (all but ``evidence``) have time
        ranges as blocks, each with the rows before it that its first windows need. Evidences
        follow what is normal row by row: one entity alone is one worker's work.
        """
        models = Models(detectors)
        least = self.n_workers if models.have_independent_windows else 1
        out = Path(out).absolute()
        run = Run.open(path, models, out, read, entity, settings, resume, self.n_workers, least)
        models.save(_models_of(run))
        write_json(run.folder / "workers.json", self.processes())
        if models.have_independent_windows and len(run.blocks) == 1:
            self._score_ranges(run)
        else:
            self._score_blocks(run)
        return run.finished()

    def fit_file(
        self,
        path: str | Path,
        detector: BaseDetector,
        *,
        read: Mapping[str, Any] | None = None,
        sample: int = MAX_SAMPLED_OBSERVATIONS,
    ) -> BaseDetector:
        """Fit a detector (``knn``) on the workers; the arguments are those of ``scale.fit_file``.

        What is learned is the same as on one machine, to rounding.
        """
        learners = _RayLearners(self)
        return fit_file(path, detector, read=read, sample=sample, learners=learners)

    # ------------------------------------------------------------------ work

    def _score_ranges(self, run: Run) -> None:
        """Read, scale and write here; score windows on the workers."""
        hands = _RayHands(self, _models_of(run))
        with run.shown() as tell:
            for number, entities in enumerate(run.blocks):
                folder = run.block_folder(number)
                run_block(
                    run.source, run.models, entities, folder, run.settings, tell(number), hands
                )

    def _score_blocks(self, run: Run) -> None:
        """Let each worker read and score one block after another."""
        left = [at for at in range(len(run.blocks)) if not run.progress(at).done]
        free = list(self._workers)
        under_way: dict[Any, tuple[int, Any]] = {}
        with run.shown() as tell:
            try:
                while left or under_way:
                    while left and free:
                        number, worker = left.pop(0), free.pop(0)
                        under_way[self._block_of(run, number, worker)] = (number, worker)
                    done, _ = self._ray.wait(list(under_way), timeout=LOOK_EVERY)
                    for asked in done:
                        self.get(asked)
                    for number, _ in under_way.values():
                        tell(number)(run.progress(number))
                    free += [under_way.pop(asked)[1] for asked in done]
            except BaseException:
                self._stop_workers()  # those that still write
                self._start_workers()
                raise

    def _block_of(self, run: Run, number: int, worker: Any) -> Any:
        return worker.run_block.remote(
            run.source,
            _models_of(run),
            run.blocks[number],
            run.block_folder(number),
            run.settings,
        )

    def get(self, asked: Any) -> Any:
        """Return what a worker answered; its error is raised here as if it had been ours."""
        try:
            return self._ray.get(asked)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, SmkcError | OSError):
                raise error.cause from None
            raise
        except self._ray.exceptions.RayError as error:
            raise SmkcError(
                f"workers were lost more than {MOST_LOSSES} times, or the cluster with them "
                f"({type(error).__name__}); look at its memory and its logs, then go on with "
                "--resume (resume=True)"
            ) from error

    # ------------------------------------------------------------------ start and end

    def _connect(self) -> None:
        self._before = {key: os.environ.get(key) for key in QUIET}
        os.environ.update({key: os.environ.get(key, value) for key, value in QUIET.items()})
        is_main = threading.current_thread() is threading.main_thread()
        self._on_terminate = signal.getsignal(signal.SIGTERM) if is_main else None
        own: dict[str, Any] = {}
        if self._address is None:
            self._folder = tempfile.mkdtemp(prefix="smkc-ray-")
            own = {
                "num_cpus": self._wanted or os.cpu_count() or 1,
                "include_dashboard": False,
                "object_store_memory": STORE_BYTES,
                "_temp_dir": self._folder,
            }
        try:
            self._ray.init(
                address=self._address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                **own,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            self._leave()
            raise SettingError(
                f"no Ray cluster answers at {self._address or 'this machine'}: {error}; start one "
                "with `ray start --head`, or leave the address out"
            ) from error

    def _start_workers(self) -> None:
        n_processors = int(self._ray.cluster_resources().get("CPU", 1))
        n_workers = min(self._wanted or n_processors, max(n_processors, 1))
        actor = self._ray.remote(Worker).options(
            num_cpus=1, max_restarts=MOST_LOSSES, max_task_retries=MOST_LOSSES
        )
        self._workers = [actor.remote() for _ in range(n_workers)]
        self.processes()

    def _stop_workers(self) -> None:
        for worker in self._workers:
            self._ray.kill(worker)

    def processes(self) -> list[str]:
        """Return each worker's machine and process, once all of them have started."""
        asked = [worker.whoami.remote() for worker in self._workers]
        _, missing = self._ray.wait(asked, num_returns=len(asked), timeout=START_SECONDS)
        if missing:
            raise SettingError(
                f"{len(missing)} of {len(asked)} workers did not start within {START_SECONDS} "
                "seconds; free processors of the cluster (ray status shows them), or ask for "
                "fewer workers"
            )
        names: list[str] = self.get(asked)
        return names

    def _leave(self) -> None:
        if not self._is_ours:
            return
        self._ray.shutdown()
        if self._on_terminate is not None:
            signal.signal(signal.SIGTERM, self._on_terminate)
        for key, value in self._before.items():
            if value is None:
                os.environ.pop(key, None)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


class _RayHands:
    """Hands time ranges to the workers in turn."""

    def __init__(self, cluster: RayCluster, models: Path) -> None:
        self._cluster = cluster
        self._models = models
        self._n_submitted = 0
        self.ahead = AHEAD * cluster.n_workers

    def submit(self, entity: str | None, windows: Windows) -> Any:
        worker = self._cluster._workers[self._n_submitted % self._cluster.n_workers]
        self._n_submitted += 1
        return worker.score_windows.remote(self._models, entity, windows.prepared, windows.starts)

    def result(self, asked: Any) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = np.array(self._cluster.get(asked))
        return scores


class _RayLearners:
    """Hands stretches of reference data to the workers in turn."""

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster
        self._shared: list[Any] = []

    def learn(self, empty: KernelFitted, prepared: Sequence[Recording]) -> list[Stretch]:
        put, workers = self._cluster._ray.put, self._cluster._workers
        self._shared = [put(part) for part in prepared]
        common = put(empty)
        asked = [
            workers[at % len(workers)].learn.remote(common, part)
            for at, part in enumerate(self._shared)
        ]
        found: list[Stretch] = self._cluster.get(asked)
        return found

    def calibrate(
        self, fitted: KernelFitted, prepared: Sequence[Recording], rows: Sequence[NDArray[np.int64]]
    ) -> list[tuple[Calibration, Calibration]]:
        put, workers = self._cluster._ray.put, self._cluster._workers
        common = put(fitted)
        asked = [
            workers[at % len(workers)].calibrate.remote(common, part, own)
            for at, (part, own) in enumerate(zip(self._shared, rows, strict=True))
        ]
        found: list[tuple[Calibration, Calibration]] = self._cluster.get(asked)
        return found


def _models_of(run: Run) -> Path:
    """Return where a run's models are; a worker holds what it loaded under this name."""
    return run.folder / f"models-{run.models.fingerprint[:16]}"


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError(f"Ray is not installed; run: {install_command('ray')}") from None
    import ray.exceptions

    return ray
