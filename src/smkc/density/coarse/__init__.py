"""Coarse: a first look at all references in bytes, which leaves few of them to measure.

In: unit vectors of references and of windows. Out: the mean distance to the nearest references,
the same as by measuring them all.
"""

from smkc.density.coarse.references import CoarseReferences

__all__ = ["CoarseReferences"]
