"""Kinds of faults: the services and variables that they affect, and their parameters.

In: the log's entry of a fault and the names of variables. Out: its causes and symptoms.
"""

import random
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from smkc.recording import parse

__all__ = ["MACHINE", "Cause", "Kind", "responsible"]

# Service name of faults of the machine itself.
MACHINE = "machine"


@dataclass(frozen=True)
class Cause:
    """A pattern of variables that a fault affects.

    Parameters
    ----------
    metrics
        regular expression for the whole name of the metric.
    labels
        labels that the variable must have, as values or as ``{key}`` of the fault's entry; if the
        entry holds a list, any of its values matches.
    """

    metrics: str
    labels: Mapping[str, str] = field(default_factory=dict)

    def holds(self, metric: str, labels: Mapping[str, str], fault: Mapping[str, Any]) -> bool:
        """Return whether a variable matches."""
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
        name such as ``lock_held``; the system has a method ``begin_lock_held``.
    services
        services of which one is drawn at random as the faulty one.
    causes
        variables of the faulty service.
    symptoms
        variables of others that are affected.
    what
        a sentence for the dataset's README.
    of_pod
        whether it affects one replica of the service; the schedule then holds its number.
    draw
        function that draws the intensity and other parameters.
    needs
        a program without which this kind is left out, such as ``tc``.
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
    """Return the variables in ``names`` that are causes and symptoms of a fault, both sorted."""
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
