"""Sketch: Recording -> states, the signed hashing of each time step into fixed width.

In: a recording and the sketch's settings. Out: the states g_t, dense over all 2m buckets, or the
arguments from which jitted loops compute them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError
from smkc.paper.sketch._loops import Hashed, fill_states
from smkc.paper.sketch.hashing import Hashes, hash_names
from smkc.recording import Recording


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """Settings of the sketch; the defaults are the paper's.

    Parameters
    ----------
    buckets
        m, the number of buckets of each of the two streams.
    presence
        whether the presence stream is used; otherwise its half of the state is zero.
    saturate
        whether the presence weight is lambda(n) = min(0.2 n, 1); otherwise it is 0.2 n.
    normalise
        whether states are divided by the square root of the number of variables observed.

    Examples
    --------
    >>> rec = Recording.from_rows([0], [{"cpu": 3.0}])
    >>> sketch = Sketch(buckets=4)
    >>> sketch.states(rec)
    array([[ 0. ,  0. ,  0. ,  3. , -0.2,  0. ,  0. ,  0. ]], dtype=float32)
    """

    buckets: int = 128
    presence: bool = True
    saturate: bool = True
    normalise: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.buckets, int) or not 1 <= self.buckets <= 4096:
            raise SettingError(f"buckets={self.buckets!r}: give a whole number from 1 to 4096")

    @property
    def width(self) -> int:
        """2m, the length of a state."""
        return 2 * self.buckets

    def hash(self, names: tuple[str, ...]) -> Hashes:
        """Return the buckets and signs of (V,) names."""
        return hash_names(names, self.buckets)

    def hashed(self, recording: Recording) -> Hashed:
        """Return the recording's observations as the argument of the jitted loops."""
        return Hashed(
            recording.indptr,
            recording.codes.view(np.uint32),
            recording.values,
            *self.hash(recording.names).arrays,
            self.presence,
            self.saturate,
            self.normalise,
        )

    def states(self, recording: Recording) -> NDArray[np.float32]:
        """Return (T, 2m) float32 states, one per row, over all buckets.

        Notes
        -----
        Paper, section 3.2.1, the equations for phi and g.
        """
        states = np.zeros((self.width, len(recording)), np.float32)
        every_bucket = np.arange(self.width, dtype=np.uint32)
        fill_states(self.hashed(recording), 0, len(recording), every_bucket, states)
        return np.ascontiguousarray(states.T)
