"""Blame: what each variable contributed to the surprise of some rows.

In: nats by evidence, by question and by variable. Out: the same, and each variable's share.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Blame:
    """The contribution of each evidence and variable to the surprise of some rows.

    Parameters
    ----------
    by_evidence
        mean nats per row that each variable contributed, by evidence.
    by_question
        nats of the variables that were loud by themselves, by question.
    silent
        the variables that fell silent at once, if a large share did and that trouble is not over.
    n_usual
        number of variables that are usually observed.
    unchanged
        variables that have had one value since before the trouble: wherever they moved, it is no
        cause of it.
    """

    by_evidence: Mapping[str, Mapping[str, float]]
    by_question: Mapping[str, Mapping[str, float]]
    silent: tuple[str, ...] = ()
    n_usual: int = 0
    unchanged: frozenset[str] = frozenset()

    @property
    def variables(self) -> dict[str, float]:
        """Each variable's share of all nats, the largest first; empty if none contributed."""
        total: dict[str, float] = {}
        for nats in (*self.by_evidence.values(), *self.by_question.values()):
            for name, much in nats.items():
                total[name] = total.get(name, 0.0) + much
        whole = sum(total.values())
        ranked = sorted(total, key=lambda name: (-total[name], name))
        return {name: total[name] / whole for name in ranked}
