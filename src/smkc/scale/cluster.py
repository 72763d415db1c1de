"""Cluster: the blocks of a run, in parallel on Ray's workers.

In: the same as for one machine, and optionally a cluster's address. Out: the same file. A lost
worker is replaced, and its work continues from the last state it wrote.
"""

import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from smkc.base import BaseDetector
from smkc.errors import SettingError, SmkcError, install_command, optional_module
from smkc.scale.block import Block, ScaleSettings
from smkc.scale.models import Models
from smkc.scale.run import Run, Summary
from smkc.scale.source import Source

# Number of times that a worker may be lost before the run fails.
MOST_LOSSES = 5

# Memory that workers share; Ray's default is 30% of the machine, and little is shared here.
STORE_BYTES = 256 * 2**20

# Seconds within which all workers must have started.
START_SECONDS = 180

# Seconds between two checks of the progress of blocks.
LOOK_EVERY = 0.5

# Environment variables that Ray reads when it starts; the first keeps it from sending statistics.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # of workers whose results are no longer needed
}


class Worker:
    """One process of a cluster; it uses 1 thread, since other workers share the machine."""

    def __init__(self) -> None:
        os.environ["SMKC_THREADS"] = "1"
        os.environ["SMKC_PROGRESS"] = "0"

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
    ) -> None:
        """Score a block of entities into its folder; continue from its saved progress."""
        Block(source, Models.load(models, entities), folder, settings).run(entities)


class RayCluster:
    """Ray workers, on a running cluster or on one that this context manager starts and stops.

    Parameters
    ----------
    workers
        number of workers; by default one per processor of the cluster.
    address
        address of a running cluster, ``auto`` for the one on this machine; by default one is
        started on this machine and stopped at the end.

    Notes
    -----
    All machines must have the source and the folder of the output under the same path.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        if workers is not None and workers < 1:
            raise SettingError(f"workers={workers!r}: give at least 1")
        self._wanted = workers
        self._address = address

    def __enter__(self) -> "RayCluster":
        self._ray = optional_module("ray", "Ray", install_command("ray"))
        with ExitStack() as stack:
            if not self._ray.is_initialized():
                self._connect(stack)
            self._start_workers()
            stack.callback(self._stop_workers)
            self._on_exit = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._on_exit.close()

    @property
    def n_workers(self) -> int:
        """Number of workers."""
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

        Each worker reads and scores blocks of entities; one worker scores all rows of an entity.
        """
        models = Models(detectors)
        out = Path(out).absolute()
        run = Run.open(path, models, out, read, entity, settings, resume, self.n_workers)
        models.save(run.folder / "models")
        self._score_blocks(run)
        return run.finished()

    # ------------------------------------------------------------------ work

    def _score_blocks(self, run: Run) -> None:
        """Distribute the blocks over the workers, each of which reads and scores its own."""
        left = [at for at in range(len(run.blocks)) if not run.progress(at).done]
        free = list(self._workers)
        under_way: dict[Any, tuple[int, Any]] = {}
        with run.shown() as tell:
            try:
                while left or under_way:
                    while left and free:
                        number, worker = left.pop(0), free.pop(0)
                        asked = worker.run_block.remote(
                            run.source,
                            run.folder / "models",
                            run.blocks[number],
                            run.block_folder(number),
                            run.settings,
                        )
                        under_way[asked] = (number, worker)
                    done, _ = self._ray.wait(list(under_way), timeout=LOOK_EVERY)
                    for asked in done:
                        self._get(asked)
                    for number, _ in under_way.values():
                        tell(number, run.progress(number))
                    free += [under_way.pop(asked)[1] for asked in done]
            except BaseException:
                self._stop_workers()  # some may still be writing
                self._start_workers()
                raise

    def _get(self, asked: Any) -> Any:
        """Return a worker's result; raise the worker's error in this process."""
        try:
            return self._ray.get(asked)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, SmkcError | OSError):
                raise error.cause from None
            raise
        except self._ray.exceptions.RayError as error:
            raise SmkcError(
                f"workers were lost more than {MOST_LOSSES} times, or the cluster with them "
                f"({type(error).__name__}); check its memory and its logs, then continue with "
                "--resume (resume=True)"
            ) from error

    # ------------------------------------------------------------------ start and end

    def _connect(self, stack: ExitStack) -> None:
        """Connect to the cluster or start one; the stack disconnects and tidies up."""
        for key in QUIET.keys() - os.environ.keys():
            os.environ[key] = QUIET[key]
            stack.callback(os.environ.pop, key, None)
        # Ray replaces this handler.
        on_terminate = signal.getsignal(signal.SIGTERM)
        if on_terminate is not None and threading.current_thread() is threading.main_thread():
            stack.callback(signal.signal, signal.SIGTERM, on_terminate)
        own: dict[str, Any] = {}
        if self._address is None:
            folder = tempfile.TemporaryDirectory(prefix="smkc-ray-", ignore_cleanup_errors=True)
            own = {
                "num_cpus": self._wanted or os.cpu_count() or 1,
                "include_dashboard": False,
                "object_store_memory": STORE_BYTES,
                "_temp_dir": stack.enter_context(folder),
            }
        stack.callback(self._ray.shutdown)
        try:
            self._ray.init(
                address=self._address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                **own,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
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
        names: list[str] = self._get(asked)
        return names
