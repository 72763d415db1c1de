"""The synthetic generator: a world, a pool and a seed -> labelled windows.

In: the number, length and cardinality of windows, and the share of anomalous ones. Out:
``Windows``, the same on every machine.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.windows import KINDS, NORMAL, Windows
from benchmarks.world._loops import ANY_ANOMALY, Constants, fill_windows
from benchmarks.world.config import DenseWorld, World
from benchmarks.world.dense import generate_dense
from benchmarks.world.pool import EVALUATION, make_pool
from smkc.errors import SettingError
from smkc.parallel import in_threads

__all__ = ["generate"]

# Durations and counts in ``World`` are for windows of this length; they scale with the length.
NOMINAL_LENGTH = 32

SHORTEST_LENGTH = 8
BLOCK_WINDOWS = 2048


def generate(
    world: World,
    *,
    pool: str,
    n_windows: int,
    cardinality: int,
    length: int = NOMINAL_LENGTH,
    rate: float = 0.0,
    seed: int | Sequence[int] = 0,
    kind: str | None = None,
) -> Windows:
    """Return windows of one cardinality; ``round(rate * n_windows)`` of them are anomalous.

    Parameters
    ----------
    world
        the generator's constants.
    pool
        pool that variables are drawn from: ``train`` or ``eval``.
    n_windows, cardinality, length
        number of windows, variables per window and time steps per window.
    rate
        share of anomalous windows; they are spread evenly among the others.
    seed
        one or more non-negative integers.
    kind
        the only kind of anomaly; if None, all kinds are equally likely.

    Notes
    -----
    Paper, section "Synthetic data generation". Each window has its own stream of random numbers,
    so the result does not depend on the number of threads.

    Examples
    --------
    >>> windows = generate(World(), pool="eval", n_windows=50, cardinality=4, rate=0.1, seed=1)
    >>> windows
    Windows(50 of 32 steps, up to 4 variables, 5 anomalous)
    """
    _check(world, n_windows, cardinality, length, rate, kind)
    if isinstance(world, DenseWorld):
        return generate_dense(
            world,
            pool=pool,
            n_windows=n_windows,
            cardinality=cardinality,
            length=length,
            rate=rate,
            seed=seed,
            kind=kind,
        )
    variables_of = make_pool(pool, world.pool_size)
    constants = _constants(world, cardinality, length, is_drifting=pool == EVALUATION)
    states = np.random.SeedSequence(seed).generate_state(n_windows, np.uint64)
    kinds = np.full(n_windows, NORMAL, np.int8)
    kinds[_spread(round(rate * n_windows), n_windows)] = (
        ANY_ANOMALY if kind is None else KINDS.index(kind)
    )
    values = np.empty((n_windows, length, cardinality), np.float32)
    observed = np.empty(values.shape, np.bool_)
    variables = np.empty((n_windows, cardinality), np.int32)
    segments = np.zeros((n_windows, 2), np.int32)

    def fill(first: int) -> None:
        part = slice(first, first + BLOCK_WINDOWS)
        fill_windows(
            constants,
            variables_of.groups,
            variables_of.sizes,
            states[part],
            kinds[part],
            values[part],
            observed[part],
            variables[part],
            segments[part],
        )

    for _ in in_threads(fill, range(0, n_windows, BLOCK_WINDOWS)):
        pass
    return Windows(values, observed, variables, variables_of.names, kinds, segments)


def _spread(n_chosen: int, n: int) -> NDArray[np.bool_]:
    """(n,) mask with ``n_chosen`` true entries, evenly spread."""
    edges = np.arange(n + 1) * n_chosen // max(n, 1)
    return np.diff(edges) > 0


def _constants(world: World, cardinality: int, length: int, is_drifting: bool) -> Constants:
    stretch = length / NOMINAL_LENGTH
    return Constants(
        coefficients=np.array(world.regimes, np.float64),
        loading=world.loading,
        noise=world.noise,
        noise_only=world.noise_only,
        missing=world.missing,
        segment=(max(2, int(world.segment[0] * length)), max(3, int(world.segment[1] * length))),
        factor_spike=world.factor_spike,
        factor_spike_steps=_stretched(world.factor_spike_steps, stretch),
        coupling_flip=world.coupling_flip,
        coupling_gain=world.coupling_gain,
        spike=world.spike,
        spikes=_stretched(world.spikes, stretch),
        least_spikes=round(world.spikes_a_variable * stretch * cardinality),
        switch=world.switch,
        copy_is_clean=world.copy == "clean",
        burst=world.burst,
        drift=world.drift if is_drifting else 0.0,
        any_composition=world.any_composition,
    )


def _stretched(counts: tuple[int, int], stretch: float) -> tuple[int, int]:
    return max(1, round(counts[0] * stretch)), max(1, round(counts[1] * stretch))


def _check(
    world: World, n_windows: int, cardinality: int, length: int, rate: float, kind: str | None
) -> None:
    if n_windows < 0:
        raise SettingError(f"n_windows={n_windows}: give 0 or more")
    if not 1 <= cardinality <= world.pool_size // 4:
        raise SettingError(
            f"cardinality={cardinality}: give 1 to {world.pool_size // 4}, a quarter of the pool "
            f"of {world.pool_size} variables, or a larger pool_size"
        )
    if length < SHORTEST_LENGTH:
        raise SettingError(f"length={length}: give at least {SHORTEST_LENGTH} time steps")
    if not 0 <= rate <= 1:
        raise SettingError(f"rate={rate}: give the share of anomalous windows, 0 to 1")
    if kind is not None and kind not in world.kinds:
        raise SettingError(f"kind={kind!r} is not known; there are {', '.join(world.kinds)}")
    if kind == "channel reassignment" and cardinality == 1:
        raise SettingError("one variable cannot be reassigned; give a cardinality of at least 2")
