"""Density: how sparsely the normal data populate the neighbourhood of a window.

In: windows. Out: the mean cosine distance, after a random projection of their features, to the
nearest windows of a reference set of bounded size.
"""

from smkc.paper.density.knn import KnnDensity
from smkc.paper.density.projection import GENERATOR, Projection
from smkc.paper.density.reference import ReferenceSet, reservoir_places

__all__ = ["GENERATOR", "KnnDensity", "Projection", "ReferenceSet", "reservoir_places"]
