"""Fusion: the standardised components of a window -> one score.

In: (B, k) components. Out: (B,) scores, higher = more anomalous. Three ways: a fixed weighted sum,
a logistic regression on labelled windows, and tail probabilities among normal windows.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError

__all__ = ["Fusion", "LogisticFusion", "TailFusion", "WeightedSum", "restored_fusion"]

# Newton's steps until the largest change of a weight is below this; a dozen suffice in practice.
TOLERANCE = 1e-10
MOST_STEPS = 100

# Strengths of the penalty that are tried, and parts that labelled windows are split into for it.
RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
PARTS = 5

# Of normal windows, the share whose tail is taken as it is; beyond, an exponential one is fitted.
TAIL_SHARE = 0.1


class Fusion(Protocol):
    """What makes one score of a window's components."""

    def __call__(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B,) scores of (B, k) standardised components."""
        ...

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return what was learned."""
        ...


@dataclass(frozen=True)
class WeightedSum:
    """A fixed weighted sum, the paper's for one objective.

    Parameters
    ----------
    weights
        (k,) float64.

    Examples
    --------
    >>> WeightedSum(np.array([1.0, 0.5]))(np.array([[2.0, 4.0]]))
    array([4.])
    """

    weights: NDArray[np.float64]

    def __call__(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B,) weighted sums."""
        return _sum(components * self.weights)

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the weights."""
        return {"weights": self.weights}


@dataclass(frozen=True)
class LogisticFusion:
    """Log odds of being anomalous, learned from labelled windows.

    Components are compressed first, sign(x) log(1 + |x|): a few extreme windows would otherwise
    decide the weights.

    Parameters
    ----------
    weights
        (k,) float64.
    offset
        (1,) float64: log odds where all components are 0.

    Notes
    -----
    Ridge-penalised maximum likelihood by Newton's method, each step a weighted least squares
    problem: le Cessie and van Houwelingen, "Ridge estimators in logistic regression", Applied
    Statistics 41, 1992, section 2. Classes count alike.
    """

    weights: NDArray[np.float64]
    offset: NDArray[np.float64]

    @classmethod
    def fitted(
        cls,
        components: NDArray[np.float64],
        is_anomalous: NDArray[np.bool_],
        ridge: float | None = None,
    ) -> "LogisticFusion":
        """Learn from (B, k) components and (B,) labels, both classes among them.

        Without a ``ridge`` it is the one of RIDGES under which parts of the windows are told best
        by what was learned from the others.
        """
        n_anomalous = int(is_anomalous.sum())
        if not 0 < n_anomalous < len(is_anomalous):
            raise InputError(
                f"{n_anomalous} of {len(is_anomalous)} labelled windows are anomalous; a fusion "
                "is learned from some of each, otherwise give no labels"
            )
        inputs = np.column_stack([_compressed(components), np.ones(len(components))])
        fewer = min(n_anomalous, len(is_anomalous) - n_anomalous)
        if ridge is None:
            losses = [_held_out_loss(inputs, is_anomalous, each) for each in RIDGES]
            ridge = RIDGES[int(np.argmin(losses))] if fewer >= PARTS else RIDGES[-1]
        found = _newton(inputs, is_anomalous, ridge)
        return cls(found[:-1], found[-1:])

    def __call__(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B,) log odds."""
        return _sum(_compressed(components) * self.weights) + self.offset

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return weights and offset."""
        return {"weights": self.weights, "offset": self.offset}


@dataclass(frozen=True)
class TailFusion:
    """Sum of -log p, p the share of normal windows whose component is as large: no labels needed.

    A component within the range of normal ones says little, one beyond says much: one clear sign
    outweighs several faint ones.

    Parameters
    ----------
    ordered
        (n, k) float64: components of normal windows, each sorted.
    scale
        (k,) float64: mean excess beyond the TAIL_SHARE of largest ones.

    Notes
    -----
    R. A. Fisher, Statistical Methods for Research Workers, 1932, section 21.1. Beyond the largest
    tenth the tail is exponential, so that scores go on rising where no normal window was seen.
    """

    ordered: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fitted(cls, components: NDArray[np.float64]) -> "TailFusion":
        """Learn from (n, k) components of normal windows."""
        if len(components) < 2:
            raise InputError(
                f"{len(components)} normal windows have no tail; give at least 2, better some "
                "hundred"
            )
        ordered = np.sort(components, axis=0)
        first = _tail(len(ordered))
        excess = (ordered[first:] - ordered[first]).sum(axis=0) / max(len(ordered) - first - 1, 1)
        return cls(ordered, np.maximum(excess, 1e-12))

    def __call__(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B,) sums of -log p."""
        n, k = self.ordered.shape
        first = _tail(n)
        surprising = np.empty(components.shape)
        for at in range(k):
            values, normal = components[:, at], self.ordered[:, at]
            # Between two neighbours of the order p is interpolated: no ties.
            rank = np.interp(values, normal, np.arange(n))
            p = (n - rank) / (n + 1)
            beyond = values > normal[first]
            surprising[:, at] = -np.log(p)
            excess = (values[beyond] - normal[first]) / self.scale[at]
            surprising[beyond, at] = excess - np.log((n - first) / (n + 1))
        return _sum(surprising)

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the normal windows' components and the tails' scales."""
        return {"ordered": self.ordered, "scale": self.scale}


KINDS: dict[str, Any] = {kind.__name__: kind for kind in (WeightedSum, LogisticFusion, TailFusion)}


def restored_fusion(kind: str, arrays: dict[str, NDArray[np.float64]]) -> Fusion:
    """Return the fusion whose ``to_arrays`` gave these; ``kind`` is its class's name."""
    if kind not in KINDS:
        raise InputError(f"fusion {kind!r} is not known; there are {', '.join(KINDS)}")
    made: Fusion = KINDS[kind](**arrays)
    return made


def _newton(
    inputs: NDArray[np.float64], is_anomalous: NDArray[np.bool_], ridge: float
) -> NDArray[np.float64]:
    """(k + 1,) weights of (B, k + 1) inputs, the last of which are 1 and not penalised."""
    balance = _balance(is_anomalous)
    penalty = np.append(np.full(inputs.shape[1] - 1, ridge), 0.0)
    found = np.zeros(inputs.shape[1])
    for _ in range(MOST_STEPS):
        odds = np.clip(inputs @ found, -30.0, 30.0)
        chance = 1 / (1 + np.exp(-odds))
        slope = inputs.T @ (balance * (is_anomalous - chance)) - penalty * found
        weight = np.maximum(balance * chance * (1 - chance), 1e-12)
        curvature = (inputs * weight[:, None]).T @ inputs + np.diag(penalty)
        change = np.linalg.solve(curvature, slope)
        # Newton may leap too far from afar; a shorter step still goes up.
        change *= min(1.0, 5.0 / max(float(np.abs(change).max()), 1e-300))
        found += change
        if np.abs(change).max() < TOLERANCE:
            break
    return found


def _held_out_loss(
    inputs: NDArray[np.float64], is_anomalous: NDArray[np.bool_], ridge: float
) -> float:
    """Mean loss of each part of the windows under weights learned from the others."""
    # Each class is dealt out in turn, so that every part has some of both.
    part = np.empty(len(inputs), np.int64)
    for of_class in (is_anomalous, ~is_anomalous):
        part[of_class] = np.arange(of_class.sum()) % PARTS
    total = 0.0
    for number in range(PARTS):
        out = part == number
        if not 0 < is_anomalous[~out].sum() < (~out).sum():
            return np.inf
        odds = inputs[out] @ _newton(inputs[~out], is_anomalous[~out], ridge)
        losses = np.logaddexp(0.0, np.where(is_anomalous[out], -odds, odds))
        total += float((_balance(is_anomalous)[out] * losses).sum())
    return total / len(inputs)


def _balance(is_anomalous: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(B,) what each window counts for, so that both classes count alike."""
    share = np.where(is_anomalous, is_anomalous.mean(), 1 - is_anomalous.mean())
    balance: NDArray[np.float64] = 0.5 / share
    return balance


def _sum(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """(B,) sums over k, one after the other: the same however many windows there are."""
    total = np.zeros(len(terms))
    for at in range(terms.shape[1]):
        total += terms[:, at]
    return total


def _compressed(components: NDArray[np.float64]) -> NDArray[np.float64]:
    compressed: NDArray[np.float64] = np.sign(components) * np.log1p(np.abs(components))
    return compressed


def _tail(n: int) -> int:
    """Return where the largest tenth of n sorted numbers begins."""
    return min(n - 1, int(np.ceil((1 - TAIL_SHARE) * n)))
