"""Stream of windows: the same scores as for a whole recording, one time step at a time.

In: a fitted state and one row after another. Out: the score of the window that ends at the row,
which agrees with the batch's to 1e-6. The cost of a row depends on the window, not on how many rows
came before.
"""

from collections.abc import Mapping
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import model_file
from smkc.errors import ModelFileError
from smkc.fitted import Fitted
from smkc.paper.kernel import SlidingWindow
from smkc.paper.sketch import STATE_LIMIT
from smkc.stream._loops import observed_state
from smkc.stream.names import RowNames
from smkc.stream.row import next_time

__all__ = ["Stream"]

# What the latest time may be saved as.
TIME_TYPES = ("<M8[ns]", "<i8", "<f8")


class Stream:
    """Scores a live recording row by row; made by :meth:`smkc.Detector.stream`.

    Examples
    --------
    >>> import smkc
    >>> rng = np.random.default_rng(0)
    >>> reference = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> det = smkc.Detector(detector="knn", window=16).fit(reference)
    >>> live = det.stream()
    >>> scores = [live.push(t, {"cpu": rng.normal()}) for t in range(20)]
    >>> scores[14] is None, scores[15] is None
    (True, False)
    """

    def __init__(self, fitted: Fitted) -> None:
        self._fitted = fitted
        sketch, window = fitted.density.sketch, fitted.window
        self._latest = SlidingWindow(window, sketch.width, fitted.density.representation)
        self._state = np.empty((sketch.width, 1), np.float32)
        self._switches = sketch.presence, sketch.saturate, sketch.normalise
        self._is_filled = [False] * window  # a ring, row n at n % window
        self._n_filled = 0
        self._n_rows = 0
        self._last_time: Any = None
        self._score: float | None = None
        self._scaling = fitted.scaling.start() if fitted.scaling is not None else None
        self._names = RowNames(sketch.buckets, self._scaling)

    # ------------------------------------------------------------------ rows

    def push(self, time: Any, observations: Mapping[str, float | None]) -> float | None:
        """Take the next row; return the score of the window that ends here.

        A value of None, NaN or infinity counts as not observed.

        None while there is no such window: before the first is full, and between windows when the
        stride is above 1. NaN if too little was observed in it.
        """
        stamp = next_time(time, self._last_time)
        hashes, values = self._names.arrange(observations)
        if self._scaling is not None:
            values = self._scaling.scale_row(stamp, self._names.slots, values)
        n_observed = observed_state(values, hashes.arrays, self._switches, self._state)
        self._latest.push(self._state[:, 0])
        self._fill(n_observed > 0)
        self._last_time = stamp
        self._n_rows += 1
        self._score = self._score_here()
        return self._score

    def _fill(self, is_filled: bool) -> None:
        """Count the row that comes into the window instead of the one that leaves it."""
        at = self._n_rows % self._fitted.window
        self._n_filled += is_filled - self._is_filled[at]
        self._is_filled[at] = is_filled

    def _score_here(self) -> float | None:
        n_since_first = self._n_rows - self._fitted.window
        if n_since_first < 0 or n_since_first % self._fitted.stride:
            return None
        if self._n_filled / self._fitted.window < self._fitted.density.least_filled:
            return nan
        return self._fitted.density.score_latest(self._latest)

    @property
    def n_rows(self) -> int:
        """How many rows were pushed so far."""
        return self._n_rows

    @property
    def p_value(self) -> float | None:
        """P-value of the latest score; None if the latest row had none."""
        if self._score is None:
            return None
        return float(self._fitted.of_windows.p_values(np.array([self._score]))[0])

    # ------------------------------------------------------------------ saving

    def save(self, path: str | Path) -> None:
        """Write the stream's state; ``detector.stream(resume=path)`` goes on exactly there."""
        arrays: dict[str, NDArray[Any]] = {
            "states": self._latest.states,
            "is_filled": np.roll(self._is_filled, -self._n_rows % self._fitted.window),
        }
        header: dict[str, Any] = {
            "kind": "stream",
            "model": _fingerprint(self._fitted),
            "n_rows": self._n_rows,
        }
        if self._last_time is not None:
            arrays["last_time"] = np.array(self._last_time).reshape(1).view(np.int64)
            header["time_type"] = np.array(self._last_time).dtype.str
        if self._scaling is not None:
            scaling_arrays, header["scaling"] = self._scaling.to_arrays()
            arrays |= {f"scaling.{key}": array for key, array in scaling_arrays.items()}
        model_file.write(path, arrays, header)

    def resume(self, path: str | Path) -> "Stream":
        """Take over the state that :meth:`save` wrote for the same model."""
        arrays, header = model_file.read(path)
        try:
            if header["kind"] != "stream":
                raise ModelFileError(f"it holds a {header['kind']!r}, not a stream")
            if header["model"] != _fingerprint(self._fitted):
                raise ModelFileError("it was saved by a stream of another model")
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
                part = {k[8:]: a for k, a in arrays.items() if k.startswith("scaling.")}
                self._scaling.restore(part, header["scaling"])
            if time_type is not None:
                last_time = arrays["last_time"].view(time_type)
                if last_time.shape != (1,) or last_time[0] != last_time[0]:
                    raise ModelFileError("its latest time is none")
                self._last_time = last_time[0]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{path} cannot be resumed: {error}; start the stream afresh"
            ) from None
        self._latest.restore(states)
        self._is_filled = np.roll(is_filled, n_rows % self._fitted.window).tolist()
        self._n_filled = sum(self._is_filled)
        self._n_rows = n_rows
        return self


def _fingerprint(fitted: Fitted) -> str:
    """Tell one model from another: what it learned and its settings."""
    density = fitted.density
    parts = sha256(density.fingerprint())
    parts.update(f"{density.representation}|{density.sketch}|{fitted.stride}".encode())
    return parts.hexdigest()
