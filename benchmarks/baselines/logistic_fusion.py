"""Logistic fusion: the standardised components of a window -> log odds, learned from labels.

In: (B, k) components, to learn also labels. Out: (B,) scores, higher = more anomalous.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.paper.learn.fusion import summed

__all__ = ["LogisticFusion"]

# Newton's method stops when the largest change of a weight is below this, usually within 12 steps.
TOLERANCE = 1e-10
MOST_STEPS = 100

# Penalties tried by cross-validation, and its number of folds.
RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
PARTS = 5


@dataclass(frozen=True)
class LogisticFusion:
    """Log odds of being anomalous, learned from labelled windows.

    Components are first compressed by sign(x) log(1 + |x|); otherwise a few extreme windows would
    determine the ``weights`` (k,). ``offset`` (1,) is the log odds if all components are 0.

    Notes
    -----
    Ridge-penalised maximum likelihood by Newton's method, each step a weighted least squares
    problem: le Cessie and van Houwelingen, "Ridge estimators in logistic regression", Applied
    Statistics 41, 1992, section 2. Both classes have the same total weight.
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
        """Learn from (B, k) components and (B,) labels, which must include both classes.

        By default ``ridge`` is the one of RIDGES with the lowest cross-validated loss, or the
        largest if a class has fewer windows than there are folds.
        """
        n_anomalous = int(is_anomalous.sum())
        inputs = np.column_stack([_compressed(components), np.ones(len(components))])
        fewer = min(n_anomalous, len(is_anomalous) - n_anomalous)
        if ridge is None:
            losses = [_held_out_loss(inputs, is_anomalous, each) for each in RIDGES]
            ridge = RIDGES[int(np.argmin(losses))] if fewer >= PARTS else RIDGES[-1]
        found = _newton(inputs, is_anomalous, ridge)
        return cls(found[:-1], found[-1:])

    def __call__(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (B,) log odds."""
        return summed(_compressed(components) * self.weights) + self.offset


def _newton(
    inputs: NDArray[np.float64], is_anomalous: NDArray[np.bool_], ridge: float
) -> NDArray[np.float64]:
    """Return (k + 1,) weights of (B, k + 1) inputs; the last input is 1 and not penalised."""
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
        # Far from the optimum Newton's step may be too long; a shorter one still improves.
        change *= min(1.0, 5.0 / max(float(np.abs(change).max()), 1e-300))
        found += change
        if np.abs(change).max() < TOLERANCE:
            break
    return found


def _held_out_loss(
    inputs: NDArray[np.float64], is_anomalous: NDArray[np.bool_], ridge: float
) -> float:
    """Return the mean cross-validated loss; infinite if a class is missing in the training part."""
    # Assign each class to the folds in turn, so that every fold has windows of both.
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
    """Return (B,) weights of windows that give both classes the same total weight."""
    share = np.where(is_anomalous, is_anomalous.mean(), 1 - is_anomalous.mean())
    balance: NDArray[np.float64] = 0.5 / share
    return balance


def _compressed(components: NDArray[np.float64]) -> NDArray[np.float64]:
    compressed: NDArray[np.float64] = np.sign(components) * np.log1p(np.abs(components))
    return compressed
