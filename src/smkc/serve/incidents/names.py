"""Names: what an alert may have in common with others.

In: an alert, and the dependencies that users configured. Out: a set of names: of its lane, of the
variables and places that caused it, and of everything that these depend on.
"""

from collections.abc import Iterable, Mapping, Sequence

from smkc.decide import Cause
from smkc.evidence.variables.places import PLACE_LABELS
from smkc.recording import parse
from smkc.serve.rows import AlertRecord

# Causes with a smaller share of the deviation are ignored: many of them moved by chance, and what
# moved by chance would relate any two alerts of machines that have the same variables.
MAIN_SHARE = 0.1

# One job scrapes many machines, so a common job does not relate two alerts. It still is a name that
# the table of dependencies may mention.
JOB = "job"


# Alerts of a split watch that blame the same variable are related if they begin within one to two
# times this many milliseconds. Machines with the same variables alert at other times by chance.
TOGETHER_MILLISECONDS = 120_000

# Separates a variable from the number of the span in which its alert began.
BEGUN = "\0begun "


class Dependencies:
    """Who depends on whom, directly and through others.

    Parameters
    ----------
    table
        name -> names that it depends on; each the name of an entity, a watch or a place.

    Examples
    --------
    >>> dependencies = Dependencies({"web": ["shop"], "shop": ["postgres", "redis"]})
    >>> sorted(dependencies.of(["web"])), sorted(dependencies.of(["redis"]))
    (['postgres', 'redis', 'shop'], [])
    """

    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        self._table = table
        self.mentioned = frozenset(table).union(*table.values())

    def of(self, names: Iterable[str]) -> frozenset[str]:
        """Return everything that some names depend on."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            further = set(self._table.get(waiting.pop(), ())) - found
            found |= further
            waiting += further
        return frozenset(found)


def aliases(alert: AlertRecord) -> frozenset[str]:
    """Return the names by which the table of dependencies may mention an alert.

    These are its watch, its entity, and the places of its main causes.
    """
    found = {place for cause in _main_causes(alert) for place in _places(cause.variable).values()}
    return frozenset({alert.watch, alert.entity} | found) - {""}


def names_of(alert: AlertRecord, dependencies: Dependencies) -> frozenset[str]:
    """Return all that an alert may have in common with others.

    These are its lane, the variables and places of its main causes, and what they depend on. Its
    watch (if that is split) and its job are among them only if the table of dependencies mentions
    them: both are common to many lanes that have nothing to do with each other. So are the
    variables of a watch that is split, which lack the label of the entity: they relate alerts that
    begin together, and no others.
    """
    also_called = aliases(alert)
    found = {alert.entity or alert.watch} | (also_called & dependencies.mentioned)
    for cause in _main_causes(alert):
        found |= _dated(cause.variable, alert)
        if not alert.entity:
            found.add(cause.variable)
        found |= {name for label, name in _places(cause.variable).items() if label != JOB}
    return frozenset(found) | dependencies.of(also_called)


def shown(names: Iterable[str]) -> list[str]:
    """Return names for people, sorted: without the time that :func:`names_of` adds to some."""
    return sorted({name.partition(BEGUN)[0] for name in names})


def place_of(alert: AlertRecord) -> str:
    """Return the place of an alert's first cause, such as its service; empty if it has none."""
    return next(iter(_places(alert.causes[0].variable).values()), "") if alert.causes else ""


def _dated(variable: str, alert: AlertRecord) -> set[str]:
    """Return a variable with the span of time in which its alert began, and with the next one."""
    span = alert.start // TOGETHER_MILLISECONDS
    return {f"{variable}{BEGUN}{number}" for number in (span, span + 1)}


def _main_causes(alert: AlertRecord) -> Sequence[Cause]:
    return [one for one in alert.causes if one.share >= MAIN_SHARE] or alert.causes[:1]


def _places(variable: str) -> dict[str, str]:
    """Return the labels of a variable that say where it was measured, the most telling first."""
    _, labels = parse(variable) or ("", {})
    return {label: labels[label] for label in PLACE_LABELS if labels.get(label)}
