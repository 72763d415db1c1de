"""Sketch: Recording -> states, the signed hashing of each time step into fixed width.

In: a recording and the sketch's settings. Out: the states g_t, dense over all 2m buckets, or as
the arguments that jitted loops take to compute them where they are needed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError
from smkc.paper.sketch._loops import Hashed, fill_states
from smkc.paper.sketch.hashing import Hashes, hash_names
from smkc.recording import Recording

__all__ = ["Sketch"]


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """Settings of the sketch; the defaults are the paper's.

    Parameters
    ----------
    buckets
        m, how many buckets each of the two streams has.
    presence
        whether the presence stream is filled; without it its half of the state is zero.
    saturate
        whether lambda(n) = min(0.2 n, 1); otherwise it is 0.2 n.
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
        """Buckets and signs of (V,) names."""
        return hash_names(names, self.buckets)

    def hashed(self, recording: Recording) -> Hashed:
        """Return the recording's observations as the jitted loops take them."""
        hashes = self.hash(recording.names)
        return self._with(hashes, recording.indptr, recording.codes, recording.values)

    def states(self, recording: Recording) -> NDArray[np.float32]:
        """(T, 2m) float32: the state of every row, over all buckets.

        Notes
        -----
        Paper, section 3.2.1, the equations for phi and g.
        """
        return np.ascontiguousarray(self._all_buckets(self.hashed(recording)).T)

    def _with(
        self,
        hashes: Hashes,
        indptr: NDArray[np.int64],
        codes: NDArray[np.int32],
        values: NDArray[np.float32],
    ) -> Hashed:
        return Hashed(
            indptr,
            codes.view(np.uint32),
            values,
            hashes.value_bucket,
            hashes.value_sign,
            hashes.presence_bucket,
            hashes.presence_sign,
            self.presence,
            self.saturate,
            self.normalise,
        )

    def _all_buckets(self, rows: Hashed) -> NDArray[np.float32]:
        n_rows = len(rows.indptr) - 1
        states = np.zeros((self.width, n_rows), np.float32)
        fill_states(rows, 0, n_rows, np.arange(self.width, dtype=np.uint32), states)
        return states
