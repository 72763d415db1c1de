"""The sketch: the variables observed at a time step -> a state of fixed width.

In: a :class:`~smkc.recording.Recording`. Out: states g_t of width 2m, in which every variable
has a signed bucket for its value and another for its presence, given by the MD5 of its
identifier. A state depends only on its own row, not on the order of variables or on a vocabulary.
"""

from smkc.paper.sketch._loops import PRESENCE_SLOPE, STATE_LIMIT, Hashed
from smkc.paper.sketch.hashing import Hashes, hash_identifier, hash_names
from smkc.paper.sketch.states import Sketch

__all__ = [
    "PRESENCE_SLOPE",
    "STATE_LIMIT",
    "Hashed",
    "Hashes",
    "Sketch",
    "hash_identifier",
    "hash_names",
]
