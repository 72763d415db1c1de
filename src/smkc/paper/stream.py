"""Stream of windows: the same scores as for a whole recording, one time step at a time.

In: a fitted state and one row after another. Out: the score of the window that ends at each row,
equal to the batch score within 1e-6. Each window is scored anew: the cost per row depends on the
window, not on the number of earlier rows.
"""

from collections.abc import Mapping
from hashlib import sha256
from math import isinf, nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import ModelFileError
from smkc.paper.scan import TIME_TYPES
from smkc.recording import Recording
from smkc.stream import Stream

if TYPE_CHECKING:
    from smkc.paper.fitted import KernelFitted


class KernelStream(Stream):
    """A stream that scores a live recording row by row; the detectors' ``stream`` method makes it.

    Examples
    --------
    >>> from smkc.paper import KnnDetector
    >>> rng = np.random.default_rng(0)
    >>> reference = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> live = KnnDetector(window=16).fit(reference).stream()
    >>> scores = [live.push(t, {"cpu": rng.normal()}) for t in range(20)]
    >>> scores[14] is None, scores[15] is None
    (True, False)
    """

    kind = "stream"

    def __init__(self, fitted: "KernelFitted") -> None:
        super().__init__(fitted.window)
        self._fitted = fitted
        self._scan = fitted.scan()

    def _push(self, row: Recording) -> float:
        score = float(self._scan.push(row).held[0])
        return nan if isinf(score) else score

    @property
    def n_rows(self) -> int:
        """Number of rows pushed so far."""
        return self._scan.n_rows

    def _p_value(self) -> float:
        return float(self._fitted.of_windows.p_values(np.array([self._score]))[0])

    # ------------------------------------------------------------------ saving

    def _fingerprint(self) -> str:
        density = self._fitted.density
        parts = sha256(density.fingerprint())
        parts.update(f"{density.representation}|{density.sketch}|{self._fitted.stride}".encode())
        return parts.hexdigest()

    def _to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, header = self._scan.to_arrays()
        if self._last_time is not None:
            last_time = np.array([self._last_time])
            arrays["last_time"], header["time_type"] = last_time.view(np.int64), last_time.dtype.str
        return arrays, header

    def _restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self._scan.restore(arrays, header)
        if self.n_rows == 0:
            return
        if header["time_type"] not in TIME_TYPES:
            raise ModelFileError(f"{header['time_type']!r} is no type of times")
        last_time = arrays["last_time"].view(header["time_type"])
        if last_time.shape != (1,) or last_time[0] != last_time[0]:
            raise ModelFileError("its latest time is missing or not a number")
        self._last_time = last_time[0]
