"""Budgets: the numbers of windows, seeds and epochs of a run of the paper's benchmark.

In: the name of a budget. Out: its numbers.
"""

from dataclasses import dataclass

from benchmarks.choosing import find
from benchmarks.protocols import Sizes

__all__ = ["BUDGETS", "Budget", "find_budget"]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Size of a run.

    Parameters
    ----------
    name
        name on the command line.
    sizes
        numbers of windows per cardinality.
    seeds, hash_width_seeds, scaling_seeds, paired_seeds
        number of seeds in general, and of the hash-width table, the scaling table and the table
        over seeds.
    epochs, patience, batch_size
        training of networks: maximum number of epochs, number of epochs without progress before
        training stops, and windows per step.
    replicates
        number of bootstrap replicates.
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
        # 10 times the training windows and as many epochs: tests whether networks lack windows.
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
