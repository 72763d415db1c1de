"""Memory: which of the latest rows count as normal by now, and which still wait.

In: a suspicion a row, and which waiting windows later rows came near to. Out: the rows of a ring
that may serve as neighbours and in nulls. What looked normal joins after a delay; suspects wait in
quarantine and join only when their state has lasted far longer than a fault should.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.choices import Choices

__all__ = ["Memory"]

EMPTY, FRESH, WAITING, ADMITTED = 0, 1, 2, 3

# A waiting window was there in a block if so many of its rows came near; and its state has lasted
# if it was there in more than this share of the blocks since.
ROWS_NEAR = 3
LASTED = 0.5

# One surprise is held for two windows. Suspects beyond that, with less than a window of calm among
# them, belong to the same episode and are no further observation.
EPISODE = 2


class Memory:
    """A ring of the latest rows, one status a row.

    Parameters
    ----------
    choices
        of the model: block, ring and quarantine are measured in rows.
    n_evidences
        how many statistics a row has.
    """

    def __init__(self, choices: Choices, n_evidences: int) -> None:
        self.block, self.quarantine = choices.block, choices.quarantine
        self.window = choices.window
        self.size = choices.memory
        self.n_rows = 0
        self.status = np.zeros(self.size, np.uint8)
        self.suspect = np.zeros(self.size, bool)
        self.is_changed = False
        self.visits = np.zeros(self.size, np.int64)
        self.penalty = np.full(self.size, np.inf, np.float32)
        self.statistics = np.zeros((self.size, n_evidences))
        self.is_counted = np.zeros(self.size, bool)  # whether they are part of nulls
        # Scores as they were, and as they count: a suspect's only up to a bound.
        self.scores, self.counted = np.zeros(self.size), np.zeros(self.size)
        self.n_in_episode, self.n_calm = 0, 0
        self.waiting = np.empty(0, np.int64)
        self.near = np.empty(0, np.int64)
        self.reach = 0.0
        self.judge: Any = None  # the state whose distances say what is near

    def places(self, n: int) -> NDArray[np.int64]:
        """(n,) where the next rows go."""
        return (self.n_rows + np.arange(n)) % self.size

    def _has_changed(self) -> bool:
        """Tell whether most of the latest rows were suspects, twice as many as quarantine has.

        Suspects have then been there for as long as quarantine lasts.
        """
        recent = np.arange(max(self.n_rows - 2 * self.quarantine, 0), self.n_rows) % self.size
        return int(self.suspect[recent].sum()) > LASTED * 2 * self.quarantine

    def take(
        self,
        statistics: NDArray[np.float64],
        scores: NDArray[np.float64],
        suspect: NDArray[np.bool_],
        most: float,
        later: float,
    ) -> None:
        """Write rows' statistics (n, E), scores and suspicions (n,), all of one block.

        Unless things have changed for good, a suspect's statistics are no part of nulls, and its
        score counts for at most ``most``, or for at most ``later`` when its episode is old.
        """
        places = self.places(len(suspect))
        self.statistics[places] = statistics
        self.suspect[places] = suspect
        self.status[places] = FRESH
        self.visits[places] = 0
        self.penalty[places] = np.inf
        doubted = suspect & (not self.is_changed)
        self.is_counted[places] = ~doubted
        self.scores[places] = scores
        bound = np.where(self._is_old(suspect), later, most)
        self.counted[places] = np.where(doubted, np.minimum(scores, bound), scores)
        self.n_rows += len(suspect)

    def _is_old(self, suspect: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(n,) whether a row's episode of suspects has lasted longer than one surprise is held."""
        is_old = np.zeros(len(suspect), bool)
        if not suspect.any() and self.n_calm >= self.window:
            return is_old
        for i, is_suspect in enumerate(suspect.tolist()):
            self.n_calm = 0 if is_suspect else self.n_calm + 1
            if self.n_calm >= self.window:
                self.n_in_episode = 0
            self.n_in_episode += is_suspect
            is_old[i] = self.n_in_episode > EPISODE * self.window
        return is_old

    def end_block(self) -> None:
        """Admit what has waited long enough; called after each whole block."""
        self.is_changed = self._has_changed()
        self.visits[self.waiting] += self.near >= min(ROWS_NEAR, self.block)
        judged = self._rows(self.n_rows - 2 * self.block, self.n_rows - self.block)
        touched = np.zeros(len(judged), bool)
        for ahead in range(self.window):
            touched |= self.suspect[(judged + ahead) % self.size]
        self.status[judged] = np.where(touched, WAITING, ADMITTED)
        waiting = np.flatnonzero(self.status == WAITING)
        if len(waiting):
            age = (self.n_rows - 1 - waiting) % self.size
            blocks = np.maximum(age // self.block - 1, 1)
            has_lasted = (age >= self.quarantine) & (self.visits[waiting] > LASTED * blocks)
            self.status[waiting[has_lasted]] = ADMITTED
        self._open()

    def accept(self, first: int, last: int) -> None:
        """Admit rows first to last, by number, at once: somebody said that they are normal."""
        places = self._rows(max(first, self.n_rows - self.size), min(last, self.n_rows))
        self.status[places] = ADMITTED
        self.suspect[places] = False
        self.is_counted[places] = True
        self.counted[places] = self.scores[places]
        self._open()

    def _rows(self, first: int, last: int) -> NDArray[np.int64]:
        return np.arange(max(first, 0), max(last, 0)) % self.size

    def _open(self) -> None:
        """Let admitted windows be neighbours, but not those that the next block overwrites."""
        self.penalty[:] = np.where(self.status == ADMITTED, 0.0, np.inf)
        closing = self._rows(self.n_rows, self.n_rows + self.block + self.window)
        self.penalty[closing] = np.inf
        if self.n_rows < self.size:  # windows across the ring's end do not exist yet
            self.penalty[: self.window - 1] = np.inf
        self.waiting = np.flatnonzero(self.status == WAITING)
        self.near = np.zeros(len(self.waiting), np.int64)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {key: getattr(self, key) for key in _SAVED} | {
            "scalars": np.array([self.reach, self.is_changed]),
            "counters": np.array([self.n_rows, self.n_in_episode, self.n_calm]),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        for key in _SAVED:
            setattr(self, key, arrays[key].copy())
        self.reach, is_changed = arrays["scalars"].tolist()
        self.is_changed = bool(is_changed)
        self.n_rows, self.n_in_episode, self.n_calm = arrays["counters"].tolist()


_SAVED = (
    "status",
    "suspect",
    "visits",
    "penalty",
    "statistics",
    "is_counted",
    "scores",
    "counted",
    "waiting",
    "near",
)
