"""Plan: how much is to be scored -> processor hours, memory and machines.

In: a :class:`Workload`. Out: an :class:`Estimate` by measured costs; its numbers hold for
processors like the one that was measured, and for one process without Ray.
"""

from dataclasses import dataclass, fields
from math import ceil

from smkc.errors import SettingError
from smkc.scale.costs import Costs, Sizes, measured_costs

__all__ = ["Estimate", "Workload", "estimate"]

DETECTORS = ("evidence", "knn")

MAX_WORKLOAD = 1e15

# Shares of a machine's cores and memory that are planned with; the rest is for peaks and for
# everything else that runs there.
USED_CORES, USED_MEMORY = 0.7, 0.7

# Bytes of a process before any model: Python, NumPy and the compiled loops.
PROCESS_BYTES = 200e6

# Bytes of an observation in a recording: a value, a code, and its share of the rows' offsets.
OBSERVATION_BYTES = 12.0

# The past is scored in this share of the time that it took.
BATCH_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What is to be scored, how, and on what machines.

    Parameters
    ----------
    series
        number of series in all.
    step_seconds, duration_seconds
        time from one row to the next, and from the first row to the last.
    variables
        number of series that are scored together, as one recording: those of one host, say.
    detector
        ``evidence`` or ``knn``.
    window, references
        rows per window and number of reference windows of ``knn``.
    reference_rows
        rows that each recording's model learns from.
    cores, memory_gb
        of one machine.

    Examples
    --------
    >>> month = Workload(series=1_000_000, step_seconds=15, duration_seconds=30 * 86_400)
    >>> month.n_recordings, month.n_rows
    (25000, 172800)
    """

    series: int
    step_seconds: float
    duration_seconds: float
    variables: int = 40
    detector: str = "evidence"
    window: int = 64
    references: int = 4096
    reference_rows: int = 20_000
    cores: int = 16
    memory_gb: float = 64.0

    def __post_init__(self) -> None:
        if self.detector not in DETECTORS:
            raise SettingError(
                f"costs of detector={self.detector!r} were not measured; choose "
                f"{' or '.join(DETECTORS)}"
            )
        for field in fields(self):
            value = getattr(self, field.name)
            least = 1 if field.type is int else 0
            if field.type is not str and not (0 < value <= MAX_WORKLOAD and value >= least):
                raise SettingError(
                    f"{field.name}={value!r} is out of range; give a number "
                    f"{'from 1' if least else 'above 0'} to 1e15"
                )

    @property
    def n_recordings(self) -> int:
        """Number of recordings that the series make up."""
        return -(-self.series // self.variables)

    @property
    def n_rows(self) -> int:
        """Rows of each recording."""
        return max(1, round(self.duration_seconds / self.step_seconds))

    @property
    def n_observations(self) -> int:
        """Observations in all."""
        return self.series * self.n_rows

    @property
    def sizes(self) -> Sizes:
        """Sizes of one recording; its model learns from no more rows than there are."""
        return Sizes(
            detector=self.detector,
            variables=self.variables,
            window=self.window,
            references=self.references,
            reference_rows=min(self.reference_rows, self.n_rows),
        )


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a workload costs.

    Parameters
    ----------
    workload
        what was asked.
    seconds_per_row, seconds_per_observation, seconds_per_series
        processor seconds when many rows are scored at once; those of a series are for all its rows.
    seconds_per_live_row
        processor seconds of a row that is scored by itself, as it arrives.
    fit_core_hours, score_core_hours
        to learn every recording's model once, and to score all rows once.
    score_gpu_hours
        to score all rows once on a GPU like the one that was measured; None if it would not help.
    live_cores
        cores that keep up with rows as they arrive.
    model_bytes, live_bytes
        of one recording's model and stream, and of all of them.
    batch_bytes
        of one process that scores recordings one after the other, the longest in memory.
    live_machines, batch_machines
        that keep up with rows as they arrive; and that score the past in a tenth of the time it
        took.
    """

    workload: Workload
    seconds_per_row: float
    seconds_per_observation: float
    seconds_per_series: float
    seconds_per_live_row: float
    fit_core_hours: float
    score_core_hours: float
    score_gpu_hours: float | None
    live_cores: float
    model_bytes: float
    live_bytes: float
    batch_bytes: float
    live_machines: int
    batch_machines: int


def estimate(workload: Workload, costs: Costs | None = None) -> Estimate:
    """Return what the workload costs, by the coefficients that came with this version."""
    costs = measured_costs() if costs is None else costs
    sizes = workload.sizes
    row, live, held = costs.row(sizes), costs.live(sizes), costs.held(sizes)
    n_recordings, n_rows = workload.n_recordings, workload.n_rows
    gpu_row = costs.gpu_row(sizes)
    score = n_recordings * n_rows * row
    fit = n_recordings * costs.fit(sizes)
    live_cores = n_recordings * live / workload.step_seconds
    live_bytes = n_recordings * held
    one_recording = OBSERVATION_BYTES * n_rows * min(workload.variables, workload.series)
    cores = USED_CORES * workload.cores
    memory = USED_MEMORY * workload.memory_gb * 1e9
    batch_seconds = BATCH_SHARE * workload.duration_seconds
    return Estimate(
        workload=workload,
        seconds_per_row=row,
        seconds_per_observation=row / workload.variables,
        seconds_per_series=row * n_rows / workload.variables,
        seconds_per_live_row=live,
        fit_core_hours=fit / 3600,
        score_core_hours=score / 3600,
        score_gpu_hours=None if gpu_row is None else n_recordings * n_rows * gpu_row / 3600,
        live_cores=live_cores,
        model_bytes=held,
        live_bytes=live_bytes,
        batch_bytes=PROCESS_BYTES + held + one_recording,
        live_machines=max(1, ceil(live_cores / cores), ceil(live_bytes / memory)),
        batch_machines=max(1, ceil((score + fit) / (batch_seconds * cores))),
    )
