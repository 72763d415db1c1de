"""Estimate: a workload and measured costs -> processor hours, memory and machines.

In: a workload. Out: an :class:`Estimate`; its numbers hold for processors like the one that was
measured, and for the local engine.
"""

from dataclasses import dataclass
from math import ceil

from smkc.plan.costs import Costs, measured_costs
from smkc.plan.workload import Workload

__all__ = ["Estimate", "estimate"]

# Shares of a machine's cores and memory that are planned with; the rest is for peaks and for
# everything else that runs there.
USED_CORES, USED_MEMORY = 0.7, 0.7

# Bytes of a process before any model: Python, NumPy and the compiled loops.
PROCESS_BYTES = 200e6

# Bytes of an observation in a recording: a value, a code, and its share of the rows' offsets.
OBSERVATION_BYTES = 12.0


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a workload costs.

    Parameters
    ----------
    workload
        what was asked.
    seconds_a_row, seconds_an_observation, seconds_a_series
        processor seconds when many rows are scored in one go; a series' are those of its span.
    seconds_a_live_row
        processor seconds of a row that is scored by itself, as it comes.
    fit_core_hours, score_core_hours
        to learn every recording's model once, and to score all rows once.
    score_gpu_hours
        to score all rows once on a GPU like the one that was measured; None if it would not help.
    live_cores
        cores that keep up with rows as they come.
    model_bytes, live_bytes
        of one recording's model and stream, and of all of them.
    batch_bytes
        of one process that scores recordings one after the other, the longest in memory.
    live_machines, batch_machines
        that keep up as rows come; and that score the past in a tenth of the time it took.
    """

    workload: Workload
    seconds_a_row: float
    seconds_an_observation: float
    seconds_a_series: float
    seconds_a_live_row: float
    fit_core_hours: float
    score_core_hours: float
    score_gpu_hours: float | None
    live_cores: float
    model_bytes: float
    live_bytes: float
    batch_bytes: float
    live_machines: int
    batch_machines: int


# The past is scored in this share of the time that it took.
BATCH_SHARE = 0.1


def estimate(workload: Workload, costs: Costs | None = None) -> Estimate:
    """Return what the workload costs, by the coefficients that came with this version."""
    costs = measured_costs() if costs is None else costs
    row, live, held = costs.row(workload), costs.live(workload), costs.held(workload)
    n_recordings, n_rows = workload.n_recordings, workload.n_rows
    gpu_row = costs.gpu_row(workload)
    score = n_recordings * n_rows * row
    fit = n_recordings * costs.fit(workload)
    live_cores = n_recordings * live / workload.step
    live_bytes = n_recordings * held
    one_recording = OBSERVATION_BYTES * n_rows * min(workload.variables, workload.series)
    a_machine = USED_MEMORY * workload.memory * 1e9
    return Estimate(
        workload=workload,
        seconds_a_row=row,
        seconds_an_observation=row / workload.variables,
        seconds_a_series=row * n_rows / workload.variables,
        seconds_a_live_row=live,
        fit_core_hours=fit / 3600,
        score_core_hours=score / 3600,
        score_gpu_hours=None if gpu_row is None else n_recordings * n_rows * gpu_row / 3600,
        live_cores=live_cores,
        model_bytes=held,
        live_bytes=live_bytes,
        batch_bytes=PROCESS_BYTES + held + one_recording,
        live_machines=max(
            1, ceil(live_cores / (USED_CORES * workload.cores)), ceil(live_bytes / a_machine)
        ),
        batch_machines=max(
            1, ceil((score + fit) / (BATCH_SHARE * workload.span * USED_CORES * workload.cores))
        ),
    )
