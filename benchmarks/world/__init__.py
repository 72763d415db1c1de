"""The synthetic world: latent factors, variables that follow them, and kinds of anomaly.

In: a world's constants and a seed. Out: windows of any cardinality from one of two disjoint pools
of variables, the same on every machine.
"""

from benchmarks.world.config import WORLDS, DenseWorld, World, find_world
from benchmarks.world.generate import generate
from benchmarks.world.pool import EVALUATION, POOLS, TRAINING, Pool, make_pool

__all__ = [
    "EVALUATION",
    "POOLS",
    "TRAINING",
    "WORLDS",
    "DenseWorld",
    "Pool",
    "World",
    "find_world",
    "generate",
    "make_pool",
]
