"""World: all constants of the synthetic generator, and its named variants.

In: constants that replace the defaults. Out: a frozen description that a generator reads.
"""

from dataclasses import dataclass, replace

from benchmarks.choosing import find
from benchmarks.windows import KINDS
from smkc.errors import SettingError

__all__ = ["DENSE_KINDS", "WORLDS", "DenseWorld", "World", "find_world"]

Range = tuple[float, float]

# Kinds of anomaly of the dense world.
DENSE_KINDS = ("level shift", "stuck values", "noise burst", "reversed segment")

# A regime: for each of the two factors its autoregressive coefficients of lags 1 and 2.
Regime = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class World:
    """Constants of the generator; the defaults are the benchmark named ``paper``.

    The paper describes its generator in words and gives no constants. These were chosen from about
    375 settings such that the training-free rows of its tables are close; none is tuned to a
    single row.

    Parameters
    ----------
    pool_size
        number of variables in each of the two disjoint pools.
    regimes
        the two regimes' autoregressive coefficients; factors have unit stationary variance.
    loading
        range of the absolute value of a variable's loading, a fixed function of its identifier.
    noise, noise_only
        standard deviation of the observation noise of coupled variables, and of noise-only ones.
    missing
        probability that an entry is not observed.
    segment
        range of an anomaly's duration, as a share of the window.
    factor_spike, factor_spike_steps
        range of a factor's displacement, and of its duration in steps (for windows of 32 steps).
    coupling_flip, coupling_gain
        probability that a changed coupling is flipped rather than amplified; range of the gain.
    spike, spikes, spikes_a_variable
        range of the size of sparse spikes, range of their number (for windows of 32 steps), and
        their minimum number per variable.
    switch
        range of the position of a regime switch, as a share of the window.
    copy
        ``noisy``: a lag copy repeats an earlier segment exactly, including its noise; ``clean``:
        it repeats the signal with new noise.
    burst
        probability that a variable is missing during an anomaly's whole segment.
    drift
        maximum change of a factor's level, and maximum slope per window, in the evaluation pool.
    unseen_variables
        whether test windows use a separate pool of variables, not the pool of training windows.
    """

    pool_size: int = 256
    regimes: tuple[Regime, Regime] = (
        ((0.985, 0.0), (0.96, 0.0)),
        ((0.93, 0.0), (0.90, 0.0)),
    )
    loading: Range = (0.8, 1.2)
    noise: float = 0.15
    noise_only: float = 0.8
    missing: float = 0.05
    segment: Range = (1 / 8, 1 / 4)
    factor_spike: Range = (4.5, 6.5)
    factor_spike_steps: tuple[int, int] = (1, 4)
    coupling_flip: float = 0.5
    coupling_gain: Range = (4.0, 6.0)
    spike: Range = (5.5, 8.0)
    spikes: tuple[int, int] = (2, 5)
    spikes_a_variable: float = 0.25
    switch: Range = (0.3, 0.7)
    copy: str = "noisy"
    burst: float = 0.0
    drift: float = 0.0
    unseen_variables: bool = True

    @property
    def kinds(self) -> tuple[str, ...]:
        """What kinds of anomaly there are."""
        return KINDS

    @property
    def any_composition(self) -> bool:
        """Whether normal windows may hold nothing but noise; anomalous ones may not."""
        return False

    def __post_init__(self) -> None:
        if self.copy not in ("noisy", "clean"):
            raise SettingError(f"copy={self.copy!r}: give 'noisy' or 'clean'")
        if self.pool_size < 8:
            raise SettingError(f"pool_size={self.pool_size}: give at least 8 variables a pool")
        for name in ("missing", "coupling_flip", "burst"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingError(f"{name}={getattr(self, name)}: give a probability, 0 to 1")
        for regime in self.regimes:
            for first, second in regime:
                if not (abs(second) < 1 and abs(first) < 1 - second):
                    raise SettingError(
                        f"regimes: coefficients ({first}, {second}) are not stationary; give "
                        "|second| < 1 and |first| < 1 - second"
                    )


@dataclass(frozen=True, kw_only=True)
class DenseWorld(World):
    """Constants of the dense world.

    Of the constants of :class:`World` the generator reads pool_size, noise, missing and segment.

    Parameters
    ----------
    n_factors
        number of autoregressive factors of unit variance; every variable follows all of them.
    memory
        range of a factor's coefficient, drawn for each window and factor: there are no regimes.
    affected
        probability that an anomaly changes a variable; at least one is changed.
    shift, burst_gain
        range of a level shift, in standard deviations of a signal, and of the factor of the noise.
    """

    n_factors: int = 6
    memory: Range = (0.5, 0.97)
    affected: float = 0.5
    shift: Range = (1.0, 3.0)
    burst_gain: Range = (4.0, 10.0)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What kinds of anomaly there are."""
        return DENSE_KINDS


class AnyComposition(World):
    """A world whose normal windows may hold any variables.

    The paper requires coupled variables of anomalous windows only.
    """

    @property
    def any_composition(self) -> bool:
        """Whether normal windows may hold nothing but noise; anomalous ones may not."""
        return True


PAPER = World()

# Factors that oscillate: 2 r cos(2 pi / period) and -r^2 with r = 0.95 and periods 16, 12 and 8, 6.
OSCILLATING: tuple[Regime, Regime] = (
    ((1.7554, -0.9025), (1.6454, -0.9025)),
    ((1.3435, -0.9025), (0.95, -0.9025)),
)

# One factor is slow while the other is fast: a switch does not change both in the same direction.
OPPOSITE: tuple[Regime, Regime] = (
    ((0.985, 0.0), (0.90, 0.0)),
    ((0.93, 0.0), (0.96, 0.0)),
)

# Factors whose autocorrelation vanishes within a few steps.
FORGETFUL: tuple[Regime, Regime] = (
    ((0.8, 0.0), (0.7, 0.0)),
    ((0.4, 0.0), (0.3, 0.0)),
)

WORLDS = {
    "paper": PAPER,
    "clean-copy": replace(PAPER, copy="clean"),
    "noisy": replace(PAPER, noise=0.5, missing=0.2),
    "ar2": replace(PAPER, regimes=OSCILLATING),
    "structured-missingness": replace(PAPER, burst=0.5),
    "drift": replace(PAPER, drift=1.5),
    # The following violate an assumption of SMKC-Evidence.
    "opposite-regimes": replace(PAPER, regimes=OPPOSITE),
    "long-segments": replace(PAPER, segment=(3 / 8, 1 / 2)),
    "short-memory": replace(PAPER, regimes=FORGETFUL),
    "dense-factors": DenseWorld(),
    "any-composition": AnyComposition(),
    "seen-variables": replace(PAPER, unseen_variables=False),
}


def find_world(name: str) -> World:
    """Return a variant by name.

    Examples
    --------
    >>> find_world("clean-copy").copy
    'clean'
    """
    return find(name, WORLDS, "world")
