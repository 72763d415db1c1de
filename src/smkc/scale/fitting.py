"""Fitting: reference data larger than memory -> a detector, from stretches spread over them.

In: Parquet files and a detector's settings. Out: the fitted detector, the same for any number of
workers. Only ``knn`` can be fitted this way: its reference set is a uniform sample of windows, and
samples of parts can be joined into a sample of the whole.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.base import BaseDetector
from smkc.decide import Calibration
from smkc.errors import SettingError, WindowError
from smkc.paper.density import KnnDensity
from smkc.paper.density.reference import ELSEWHERE, ReferenceSet
from smkc.paper.fitted import MAX_NULL_SCORES, KernelFitted
from smkc.paper.kernel import window_starts
from smkc.recording import Recording
from smkc.scale.held import Held, by_entity
from smkc.scale.source import Source

# Largest number of observations to learn from; of more, stretches are taken at equal intervals.
MAX_SAMPLED_OBSERVATIONS = 10_000_000

# A stretch has at least this many observations, and rows for this many windows.
STRETCH_OBSERVATIONS = 500_000
STRETCH_WINDOWS = 32

Chosen = TypeVar("Chosen", bound=BaseDetector)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Stretch:
    """What was learned from one stretch of reference data alone.

    ``vectors`` (n, d) are a uniform sample of its ``n_windows`` windows as unit vectors, ``rows``
    (n,) their start rows, ``typical`` (F,) their mean features.
    """

    vectors: NDArray[np.float32]
    rows: NDArray[np.int64]
    typical: NDArray[np.float32]
    n_windows: int


# Function that calls another one for each stretch: (function, common argument, lists of the
# arguments of each stretch) -> list of results. It may use other processes.
Each = Callable[..., list[Any]]


def _in_this_process(work: Callable[..., Any], common: Any, *parts: Sequence[Any]) -> list[Any]:
    return [work(common, *own) for own in zip(*parts, strict=True)]


def fit_file(
    path: str | Path,
    detector: Chosen,
    *,
    read: Mapping[str, Any] | None = None,
    sample: int = MAX_SAMPLED_OBSERVATIONS,
) -> Chosen:
    """Fit a :class:`smkc.paper.KnnDetector` on Parquet files that need not fit into memory.

    Parameters
    ----------
    path
        file, folder or glob, sorted by time.
    detector
        the detector to fit; it is fitted in place and returned.
    read
        keyword arguments of :func:`smkc.read`.
    sample
        about how many observations to learn from, in stretches spread evenly over the files.
    """
    return fit_stretches(path, detector, read, sample, _in_this_process)


def fit_stretches(
    path: str | Path,
    detector: Chosen,
    read: Mapping[str, Any] | None,
    sample: int,
    each: Each,
) -> Chosen:
    """Fit a detector as :func:`fit_file` does; ``each`` does the work on the stretches."""
    if not detector.learns_apart:
        raise SettingError(
            f"detector={detector.kind!r} learns from rows as they follow one another, so that "
            "parts cannot be learned apart and joined; fit it on a stretch of normal data that "
            "fits into memory, or choose detector='knn'"
        )
    empty = cast(KernelFitted, detector._empty())
    source = Source.open(path, read)
    stretches = list(_spread(source, empty.window, sample))
    if empty.is_scaled:
        for stretch in stretches:  # the first stretch that settles a variable sets its scaling
            empty = replace(empty, scaling=empty.scaling_after(stretch))
    prepared = [empty.prepare(stretch) for stretch in stretches]
    with progress.task("learning what is normal", 2) as advance:
        parts = each(_learned_apart, empty, prepared)
        advance(1)
        density, rows = _joined(cast(KnnDensity, empty.density), parts)
        fitted = replace(empty, density=density)
        if density.n_references < density.neighbours:
            raise WindowError(
                f"the reference data give {density.n_references:,} windows of {fitted.window} rows "
                f"for {density.neighbours} neighbours; give more reference data, a shorter window "
                "or fewer neighbours"
            )
        calibrations = each(_calibrated, fitted, prepared, rows)
        advance(1)
    for of_windows, of_steps in calibrations:
        fitted = replace(
            fitted,
            of_windows=fitted.of_windows.merged(of_windows, MAX_NULL_SCORES, detector._seed),
            of_steps=fitted.of_steps.merged(of_steps, MAX_NULL_SCORES, detector._seed),
        )
    if not len(fitted.of_windows.null):
        raise WindowError(
            f"{path}: with the rows around a window left out, no {fitted.density.neighbours} other "
            f"windows of {fitted.window} rows remain to calibrate with; give more reference data, "
            "a shorter window or fewer neighbours"
        )
    detector._take(fitted, None)
    return detector


def _learned_apart(empty: KernelFitted, prepared: Recording) -> _Stretch:
    """Learn from one stretch: a uniform sample of its windows."""
    starts = window_starts(len(prepared), empty.window, empty.stride)
    offered = starts[empty.density.is_filled(prepared, starts)]
    with progress.quiet():
        density = cast(KnnDensity, empty.density.learned(prepared, offered))
    return _Stretch(
        vectors=density.references.vectors,
        rows=density.references.rows,
        typical=density.typical,
        n_windows=len(offered),
    )


def _calibrated(
    fitted: KernelFitted, prepared: Recording, rows: NDArray[np.int64]
) -> tuple[Calibration, Calibration]:
    """Return the calibrations of windows and of time steps from one stretch.

    ``rows`` (n,) are the start rows of the references in it; ELSEWHERE for those of others.
    """
    density = cast(KnnDensity, fitted.density)
    density = replace(density, references=replace(density.references, rows=rows))
    starts = window_starts(len(prepared), fitted.window, fitted.stride)
    with progress.quiet():
        return replace(fitted, density=density)._normal_scores(prepared, starts)


# ---------------------------------------------------------------------- inside


def _spread(source: Source, window: int, sample: int) -> Iterator[Recording]:
    """Yield stretches of consecutive rows; only every k-th if there are too many observations."""
    every = max(1, -(-source.n_cells // sample))
    last: Recording | None = None
    for number, stretch in enumerate(_stretches(source, window)):
        if len(stretch) >= window and number % every == 0:
            yield stretch
            last = stretch
    if last is None:
        raise WindowError(
            f"{source.path} has fewer rows than the window's {window}; give more reference data, "
            "or a shorter window"
        )


def _stretches(source: Source, window: int) -> Iterator[Recording]:
    held = Held(source.step)
    waiting: list[Recording] = []

    def is_enough() -> bool:
        return (
            sum(part.n_observations for part in waiting) >= STRETCH_OBSERVATIONS
            and sum(map(len, waiting)) >= STRETCH_WINDOWS * window
        )

    for batch in source.batches():
        for _, part in by_entity(batch):  # one, as there are no entities
            held.add(part, batch.names, batch.place)
        if held.size >= 2 * STRETCH_OBSERVATIONS:
            rows = held.complete(0.5)
            waiting += [] if rows is None else [rows]
            if is_enough():
                yield Recording.concat(waiting).canonical()
                waiting = []
    rest = held.rest()
    waiting += [] if rest is None else [rest]
    if waiting:
        yield Recording.concat(waiting).canonical()


def _joined(
    density: KnnDensity, parts: Sequence[_Stretch]
) -> tuple[KnnDensity, list[NDArray[np.int64]]]:
    """Join the samples of the stretches into one uniform sample.

    Also returns, for each stretch, (n,) the start rows of the references in it.
    """
    capacity, seed = density.references.capacity, density.projection.seed
    n_windows = np.array([part.n_windows for part in parts])
    n_all = int(n_windows.sum())
    rng = np.random.Generator(np.random.PCG64([seed, n_all]))
    counts = n_windows
    if n_all > capacity:
        counts = rng.multivariate_hypergeometric(n_windows, capacity, method="marginals")
    chosen = [
        np.sort(rng.choice(len(part.vectors), int(count), replace=False))
        for part, count in zip(parts, counts, strict=True)
    ]
    vectors = np.concatenate([p.vectors[which] for p, which in zip(parts, chosen, strict=True)])
    ends = np.cumsum([len(which) for which in chosen])
    rows = []
    for part, which, end in zip(parts, chosen, ends, strict=True):
        own = np.full(len(vectors), ELSEWHERE)
        own[end - len(which) : end] = part.rows[which]
        rows.append(own)
    typical = sum(
        (part.typical.astype(np.float64) * (part.n_windows / max(n_all, 1)) for part in parts),
        start=np.zeros(len(density.typical)),
    )
    everywhere = np.full(len(vectors), ELSEWHERE)
    references = ReferenceSet(vectors, n_all, capacity, everywhere)
    return replace(density, references=references, typical=typical.astype(np.float32)), rows
