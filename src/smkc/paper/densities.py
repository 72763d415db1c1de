"""Type of the densities that a detector of the paper can have: training-free or trained."""

from typing import TYPE_CHECKING, TypeAlias

from smkc.paper.density import KnnDensity

if TYPE_CHECKING:
    from smkc.paper.learn.density import LearnedDensity

Density: TypeAlias = "KnnDensity | LearnedDensity"
