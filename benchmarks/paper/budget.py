"""Budgets: how many windows, seeds and epochs a run of the paper's benchmark may cost.

In: a budget's name. Out: its numbers.
"""

from dataclasses import dataclass

from benchmarks.choosing import find
from benchmarks.protocols import Sizes

__all__ = ["BUDGETS", "Budget", "find_budget"]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a run may cost.

    Parameters
    ----------
    name
        what to type for it.
    sizes
        windows a cardinality.
    seeds, hash_width_seeds, scaling_seeds, paired_seeds
        how many runs of everything, of the hash-width table, of the scaling table and of the table
        over seeds.
    epochs, patience, batch_size
        of networks: at most so many passes, so many without progress, windows a step.
    replicates
        of the bootstrap.
    """

    name: str
    sizes: Sizes
    seeds: int
    hash_width_seeds: int
    scaling_seeds: int
    paired_seeds: int
    epochs: int
    patience: int
    batch_size: int
    replicates: int


BUDGETS = {
    budget.name: budget
    for budget in (
        Budget(
            name="smoke",
            sizes=Sizes(train=24, validation=20, test=100),
            seeds=1,
            hash_width_seeds=1,
            scaling_seeds=1,
            paired_seeds=2,
            epochs=1,
            patience=1,
            batch_size=32,
            replicates=100,
        ),
        Budget(
            name="quick",
            sizes=Sizes(train=200, validation=50, test=300),
            seeds=2,
            hash_width_seeds=3,
            scaling_seeds=3,
            paired_seeds=3,
            epochs=15,
            patience=3,
            batch_size=32,
            replicates=1000,
        ),
        Budget(
            name="paper",
            sizes=Sizes(),
            seeds=3,
            hash_width_seeds=7,
            scaling_seeds=10,
            paired_seeds=10,
            epochs=300,
            patience=20,
            batch_size=128,
            replicates=1000,
        ),
        # Ten times the windows, and as many passes over them: are networks short of windows?
        Budget(
            name="more-windows",
            sizes=Sizes(train=4000),
            seeds=1,
            hash_width_seeds=1,
            scaling_seeds=1,
            paired_seeds=2,
            epochs=300,
            patience=20,
            batch_size=128,
            replicates=1000,
        ),
    )
}


def find_budget(name: str) -> Budget:
    """Return a budget by name.

    Examples
    --------
    >>> find_budget("paper").sizes.train
    400
    """
    return find(name, BUDGETS, "budget")
