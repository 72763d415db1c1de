"""Protocols: the cardinalities to train and test on, and the windows of each split.

In: a world, a length, sizes and a seed. Out: windows for training, validation and testing.
"""

from dataclasses import dataclass, field

from benchmarks.choosing import find
from benchmarks.windows import Windows
from benchmarks.world import EVALUATION, TRAINING, World, generate

__all__ = ["CARDINALITIES", "PROTOCOLS", "RATES", "Protocol", "Sizes", "Splits", "find_protocol"]

CARDINALITIES = (1, 2, 3, 4, 6, 8, 12, 16)
RATES = (0.01, 0.05, 0.10, 0.20)

# Part of the seed, so that the splits draw different random numbers.
_TRAIN, _VALIDATION, _TEST = 1, 2, 3
VALIDATION_RATE = 0.10


@dataclass(frozen=True)
class Protocol:
    """Cardinalities to train on and to test on."""

    name: str
    train: tuple[int, ...]
    test: tuple[int, ...]


PROTOCOLS = {
    "in_dist_C": Protocol("in_dist_C", CARDINALITIES, CARDINALITIES),
    "holdout_C": Protocol("holdout_C", (1, 2, 4, 8), (3, 6, 12, 16)),
}


def find_protocol(name: str) -> Protocol:
    """Return a protocol by name."""
    return find(name, PROTOCOLS, "protocol")


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Number of windows per cardinality in each split; the defaults are the benchmark's."""

    train: int = 400
    validation: int = 200
    test: int = 600


@dataclass(frozen=True, kw_only=True)
class Splits:
    """The windows of one run.

    A test set does not depend on the protocol: protocols share the test sets of the cardinalities
    that they have in common. Training and validation draw from the training pool of variables,
    tests from the evaluation pool, or from the training pool if ``world.unseen_variables`` is
    false.

    Examples
    --------
    >>> splits = Splits(seed=0, sizes=Sizes(train=10, validation=10, test=20))
    >>> splits.train(PROTOCOLS["holdout_C"])
    Windows(40 of 32 steps, up to 8 variables, 0 anomalous)
    >>> splits.test(cardinality=16, rate=0.1)
    Windows(20 of 32 steps, up to 16 variables, 2 anomalous)
    """

    seed: int
    world: World = field(default_factory=World)
    length: int = 32
    sizes: Sizes = field(default_factory=Sizes)

    def train(self, protocol: Protocol) -> Windows:
        """Return normal windows of every training cardinality of the protocol."""
        return Windows.concat(
            [
                generate(
                    self.world,
                    pool=TRAINING,
                    n_windows=self.sizes.train,
                    cardinality=cardinality,
                    length=self.length,
                    seed=(self.seed, _TRAIN, cardinality),
                )
                for cardinality in protocol.train
            ]
        )

    def validation(self, protocol: Protocol) -> Windows:
        """Return windows of the training cardinalities, 10% of them with an anomaly."""
        return Windows.concat(
            [
                generate(
                    self.world,
                    pool=TRAINING,
                    n_windows=self.sizes.validation,
                    cardinality=cardinality,
                    length=self.length,
                    rate=VALIDATION_RATE,
                    seed=(self.seed, _VALIDATION, cardinality),
                )
                for cardinality in protocol.train
            ]
        )

    def test(self, cardinality: int, rate: float) -> Windows:
        """Return the test set of one cardinality and anomaly rate."""
        return generate(
            self.world,
            pool=EVALUATION if self.world.unseen_variables else TRAINING,
            n_windows=self.sizes.test,
            cardinality=cardinality,
            length=self.length,
            rate=rate,
            seed=(self.seed, _TEST, cardinality, round(rate * 10_000)),
        )
