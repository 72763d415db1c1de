"""Kinds of faults: whom they befall, what varies, and by which variables they are known.

In: a fault's entry of the log and the names of variables. Out: the responsible ones.
"""

import random
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from smkc.recording import parse

__all__ = ["MACHINE", "Cause", "Kind", "responsible"]

# The service that is blamed for a fault of the machine itself.
MACHINE = "machine"


@dataclass(frozen=True)
class Cause:
    """Variables that a fault moves.

    Parameters
    ----------
    metrics
        regular expression of the whole name of the metric.
    labels
        labels that the variable has, as values or as ``{key}`` of the fault's entry; a list of
        values in the entry stands for any of them.
    """

    metrics: str
    labels: Mapping[str, str] = field(default_factory=dict)

    def holds(self, metric: str, labels: Mapping[str, str], fault: Mapping[str, Any]) -> bool:
        """Return whether a variable is meant."""
        if re.fullmatch(self.metrics, metric) is None:
            return False
        for label, wanted in self.labels.items():
            value = fault.get(wanted[1:-1]) if wanted.startswith("{") else wanted
            allowed = value if isinstance(value, list) else [value]
            if label not in labels or labels[label] not in allowed:
                return False
        return True


def _nothing(rng: random.Random) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of fault.

    Parameters
    ----------
    name
        such as ``lock_held``; the system has a method ``begin_lock_held``.
    services
        one of them is drawn and is to blame.
    causes
        the variables of what is to blame.
    symptoms
        the variables of others that suffer from it.
    what
        what is done, in a sentence for the dataset's README.
    of_pod
        whether it befalls one replica of the service; the schedule then holds its number.
    draw
        how hard it strikes.
    needs
        a program or a feature without which this kind is left out, such as ``tc``.
    """

    name: str
    services: tuple[str, ...]
    causes: tuple[Cause, ...]
    what: str
    symptoms: tuple[Cause, ...] = ()
    of_pod: bool = False
    draw: Callable[[random.Random], dict[str, Any]] = _nothing
    needs: str = ""


def responsible(
    kind: Kind, fault: Mapping[str, Any], names: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return the causes of a fault and its symptoms, of the variables that there are, sorted."""
    causes, symptoms = [], []
    for name in sorted(names):
        parts = parse(name)
        if parts is None:
            continue
        if any(cause.holds(*parts, fault) for cause in kind.causes):
            causes.append(name)
        elif any(cause.holds(*parts, fault) for cause in kind.symptoms):
            symptoms.append(name)
    return causes, symptoms
