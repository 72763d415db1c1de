"""Stream of windows: the same scores as for a whole recording, one time step at a time.

In: a fitted state and one row after another. Out: the score of the window that ends at each row,
equal to the batch score within 1e-6. The cost per row depends on the window, not on the number of
earlier rows.
"""

from collections.abc import Mapping
from hashlib import sha256
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import ModelFileError
from smkc.model_file import below
from smkc.paper.kernel import SlidingWindow
from smkc.paper.names import RowNames
from smkc.paper.sketch import STATE_LIMIT
from smkc.paper.sketch._loops import observed_state
from smkc.stream import Stream

if TYPE_CHECKING:
    from smkc.paper.fitted import KernelFitted

# Types in which the latest time may be saved.
TIME_TYPES = ("<M8[ns]", "<i8", "<f8")


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
        sketch, window = fitted.density.sketch, fitted.window
        self._latest = SlidingWindow(window, sketch.width, fitted.density.representation)
        self._state = np.empty((sketch.width, 1), np.float32)
        self._switches = sketch.presence, sketch.saturate, sketch.normalise
        self._is_filled = [False] * window  # ring buffer: row n is at n % window
        self._n_filled = 0
        self._n_rows = 0
        self._scaling = fitted.scaling.start() if fitted.scaling is not None else None
        self._names = RowNames(sketch.buckets, self._scaling)

    # ------------------------------------------------------------------ rows

    def _push(self, stamp: Any, observations: Mapping[str, float | None]) -> float:
        hashes, values = self._names.arrange(observations)
        if self._scaling is not None:
            values = self._scaling.scale_row(stamp, self._names.slots, values)
        n_observed = observed_state(values, hashes.arrays, self._switches, self._state)
        self._latest.push(self._state[:, 0])
        self._fill(n_observed > 0)
        self._n_rows += 1
        return self._score_here()

    def _fill(self, is_filled: bool) -> None:
        """Update the number of filled rows: one row enters the window, one leaves it."""
        at = self._n_rows % self._fitted.window
        self._n_filled += is_filled - self._is_filled[at]
        self._is_filled[at] = is_filled

    def _score_here(self) -> float:
        n_since_first = self._n_rows - self._fitted.window
        if n_since_first < 0 or n_since_first % self._fitted.stride:
            return nan
        if self._n_filled / self._fitted.window < self._fitted.density.least_filled:
            return nan
        return self._fitted.density.score_latest(self._latest)

    @property
    def n_rows(self) -> int:
        """Number of rows pushed so far."""
        return self._n_rows

    def _p_value(self) -> float:
        return float(self._fitted.of_windows.p_values(np.array([self._score]))[0])

    # ------------------------------------------------------------------ saving

    def _fingerprint(self) -> str:
        density = self._fitted.density
        parts = sha256(density.fingerprint())
        parts.update(f"{density.representation}|{density.sketch}|{self._fitted.stride}".encode())
        return parts.hexdigest()

    def _to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "states": self._latest.states,
            "is_filled": np.roll(self._is_filled, -self._n_rows % self._fitted.window),
        }
        header: dict[str, Any] = {"n_rows": self._n_rows}
        if self._last_time is not None:
            arrays["last_time"] = np.array(self._last_time).reshape(1).view(np.int64)
            header["time_type"] = np.array(self._last_time).dtype.str
        if self._scaling is not None:
            scaling_arrays, header["scaling"] = self._scaling.to_arrays()
            arrays |= {f"scaling.{key}": array for key, array in scaling_arrays.items()}
        return arrays, header

    def _restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        states, is_filled = arrays["states"], arrays["is_filled"]
        n_rows, time_type = header["n_rows"], header.get("time_type")
        if (
            states.shape != self._latest.states.shape
            or states.dtype != np.float32
            or not (np.abs(states) <= STATE_LIMIT).all()
            or is_filled.shape != (self._fitted.window,)
            or is_filled.dtype != np.bool_
            or type(n_rows) is not int
            or n_rows < 0
            or (time_type is None) != (n_rows == 0)
            or (time_type is not None and time_type not in TIME_TYPES)
        ):
            raise ModelFileError("its content does not fit the model")
        if self._scaling is not None:
            self._scaling.restore(below(arrays, "scaling."), header["scaling"])
        if time_type is not None:
            last_time = arrays["last_time"].view(time_type)
            if last_time.shape != (1,) or last_time[0] != last_time[0]:
                raise ModelFileError("its latest time is missing or not a number")
            self._last_time = last_time[0]
        self._latest.restore(states)
        self._is_filled = np.roll(is_filled, n_rows % self._fitted.window).tolist()
        self._n_filled = sum(self._is_filled)
        self._n_rows = n_rows
