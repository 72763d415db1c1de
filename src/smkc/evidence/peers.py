"""Peers: what is usual for the variables that share a role with a newcomer.

In: the fitted model, and a variable that the reference does not know, such as the latency of a new
pod. Out: the usual value of the reference's members of the same role.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from smkc.evidence.columns.rows import seconds
from smkc.evidence.model import ReferenceEvidence
from smkc.evidence.variables import Usual

# Number of peers whose usual values are looked up.
MOST_PEERS = 64


@dataclass(frozen=True, kw_only=True)
class Peers:
    """The members of one role in the reference.

    Parameters
    ----------
    known
        the fitted model.
    role
        number of the role.
    middle, spread
        medians of the members' usual values, or usual rates, and of their spreads.
    are_counters
        whether most of them are counters.
    """

    known: ReferenceEvidence
    role: int
    middle: float
    spread: float
    are_counters: bool

    @classmethod
    def of(cls, name: str, known: ReferenceEvidence) -> "Peers | None":
        """Return the peers of a variable; None if it belongs to no role of the reference."""
        role = known.roles.number_of(name)
        if role < 0:
            return None
        scaling = known.scaling
        members = np.flatnonzero(known.roles.of_names == role)[:MOST_PEERS]
        at = [scaling.names.index(known.names[member]) for member in members.tolist()]
        return cls(
            known=known,
            role=role,
            middle=float(np.median(scaling.centre[at])),
            spread=float(np.median(scaling.spread[at])),
            are_counters=2 * int(scaling.counter[at].sum()) > len(at),
        )

    def usual_at(self, time: Any) -> Usual:
        """Return their usual value at a time: that of the role if it has a season."""
        column = len(self.known.names) + self.role
        clock = float(seconds(np.asarray([time]))[0])
        found = self.known.variables.usual_at(column, clock)
        return found or Usual(middle=self.middle, spread=self.spread, when="")
