"""Farthest: the members that stood out in each role in the latest rows.

In: the farthest member of each role, row by row. Out: the contributions of roles, attributed to
their members.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from smkc.errors import ModelFileError
from smkc.evidence.columns.roles import Roles

# Number of member names that are kept; when there are more, all earlier rows are forgotten.
MOST_NAMES = 65_536


class Farthest:
    """Ring of the latest rows: each role's farthest member by scaled value, and from its peers.

    Parameters
    ----------
    roles
        of the reference.
    memory
        number of rows in the ring.
    """

    def __init__(self, roles: Roles, memory: int) -> None:
        self._role_of = dict(zip(roles.columns, roles.of_columns.tolist(), strict=True))
        n_roles = len(roles.names)
        self._role_of |= {name: n_roles + at for at, name in enumerate(roles.peer_columns)}
        self.who = np.full((memory, n_roles + len(roles.peer_columns)), -1, np.int64)
        self.names: list[str] = []
        self._number: dict[str, int] = {}

    def take(self, n_rows: int, who: NDArray[np.int64], names: Sequence[str]) -> None:
        """Store ``who`` (n, R + S), codes of ``names``, for the rows from number ``n_rows`` on."""
        latest = who[-len(self.who) :]
        first = n_rows + len(who) - len(latest)
        if len(self.names) > MOST_NAMES:
            self.names, self._number = [], {}
            self.who[:] = -1
        numbers = np.full(len(names) + 1, -1, np.int64)  # the last one, for code -1, means none
        for code in np.unique(latest[latest >= 0]).tolist():
            numbers[code] = self._numbered(names[code])
        self.who[(first + np.arange(len(latest))) % len(self.who)] = numbers[latest]

    def shared_out(self, made: Mapping[str, float], first: int, last: int) -> dict[str, float]:
        """Attribute the contributions of roles in rows first to last - 1 to their members.

        Each row in which a role had a farthest member counts equally. ``made`` is by name of the
        column; contributions of other columns stay as they are.
        """
        out: dict[str, float] = {}
        places = np.arange(first, last) % len(self.who)
        for name, nats in made.items():
            role = self._role_of.get(name)
            members = self._members(places, role) if role is not None else [name]
            for member in members or [name]:
                out[member] = out.get(member, 0.0) + nats / max(len(members), 1)
        return out

    def restore(self, who: NDArray[np.int64], names: Sequence[str]) -> None:
        """Restore saved ``who`` and ``names``."""
        if who.shape != self.who.shape or (who.size and int(who.max()) >= len(names)):
            raise ModelFileError("the saved members do not fit this model; start afresh")
        self.who = who.astype(np.int64)
        self.names = [str(name) for name in names]
        self._number = {name: at for at, name in enumerate(self.names)}

    def _numbered(self, name: str) -> int:
        if name not in self._number:
            self._number[name] = len(self.names)
            self.names.append(name)
        return self._number[name]

    def _members(self, places: NDArray[np.int64], role: int) -> list[str]:
        """Return the farthest member of each row that had one, once per row."""
        return [self.names[number] for number in self.who[places, role].tolist() if number >= 0]
