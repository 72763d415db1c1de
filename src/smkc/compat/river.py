"""Adapter for River: smkc as an anomaly detector that learns row by row.

In: one dict per time step, whose keys may change. Out: the score of the window that ends with it.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from smkc.compat import detector_of, host_class
from smkc.detector import Detector
from smkc.errors import InputError, SettingError
from smkc.recording import Recording
from smkc.stream import Stream

# Number of blocks without enough observations to fit on, from the start, after which it is an
# error.
MOST_BLOCKS = 10

AnomalyDetector: Any = host_class("river.base", "AnomalyDetector", "river")


class SmkcAnomalyDetector(AnomalyDetector):  # type: ignore[misc]
    """A River detector for dicts whose keys come and go.

    Parameters
    ----------
    block
        number of rows collected before they are learned. The detector is fitted on the first block
        and updated with each later one, in bounded memory; until the first fit, scores are 0. If
        the first block has too few observations, up to 9 more are joined to it; a later block with
        too few is skipped.
    is_frozen
        whether to learn nothing after the first fit.
    window
        as in :class:`smkc.Detector`.
    settings
        further settings of :class:`smkc.Detector`, by name.

    Notes
    -----
    Rows are one time step apart. ``score_one`` does not change the model; only ``learn_one`` adds
    the row to it. A window with too few observations gets the median score of normal windows.
    Montiel et al., Journal of Machine Learning Research 22, 2021.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> model = SmkcAnomalyDetector(block=300)
    >>> for value in rng.normal(size=400):
    ...     model.learn_one({"cpu": value})
    >>> usual = model.score_one({"cpu": 0.1})
    >>> model.score_one({"cpu": 9.0, "new": 50.0}) > usual
    True
    """

    def __init__(
        self,
        block: int = 1000,
        is_frozen: bool = False,
        window: int | str = Detector.window,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.block = block
        self.is_frozen = is_frozen
        self.window = window
        self.settings = settings
        self._rows: list[dict[str, Any]] = []
        self._n_rows = 0
        self._detector: Detector | None = None
        self._stream: Stream | None = None
        self._score = self._usual = 0.0
        self._ahead: tuple[dict[str, Any], Stream, float] | None = None

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"block": 100}

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Add the next row, and learn the block if the row completes one."""
        row = _row(x)
        if self._ahead is not None and self._ahead[0] == row:
            _, self._stream, self._score = self._ahead
        elif self._stream is not None:
            self._score = self._pushed(self._stream, row)
        self._ahead = None
        self._n_rows += 1
        if self._detector is None or not self.is_frozen:
            self._rows.append(row)
            if len(self._rows) % max(self.block, 1) == 0:
                self._learn_block()

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Return the score of the window that would end with this row; higher is more abnormal."""
        if self._stream is None or self._detector is None:
            return 0.0
        learned = self._detector.fitted_  # never changed, so the copies can share it
        ahead = deepcopy(self._stream, {id(learned): learned})
        row = _row(x)
        score = self._pushed(ahead, row)
        self._ahead = row, ahead, score
        return score

    def _pushed(self, stream: Stream, row: dict[str, Any]) -> float:
        """Push the row and return its score, or the usual score if too little was observed."""
        score = stream.push(self._n_rows, row)
        return self._usual if score is None else score

    def _learn_block(self) -> None:
        """Learn the collected rows, then push them to a new stream of the updated detector."""
        first = self._n_rows - len(self._rows)
        block = Recording.from_rows(np.arange(first, self._n_rows), self._rows)
        detector = self._detector if self._detector is not None else detector_of(self)
        try:
            detector.partial_fit(block)
        except SettingError:
            raise
        except InputError:  # too little was observed
            if self._detector is not None:
                self._rows = []
            elif len(self._rows) >= MOST_BLOCKS * self.block:
                raise
            return
        self._detector = detector
        self._usual = detector.fitted_.of_steps.usual
        self._stream = detector.stream()
        for time, row in enumerate(self._rows, first):
            self._stream.push(time, row)
        self._rows = []


def _row(x: Mapping[Any, Any]) -> dict[str, Any]:
    """Copy a row with its keys as strings; keys in River may be numbers."""
    return {str(name): value for name, value in x.items()}
