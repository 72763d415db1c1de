"""Hit rates of root causes: how often a method names a responsible variable.

In: for each event, the variables that a method names, most likely first, and those known to be
responsible. Out: the share of events with a responsible variable among the first k.
"""

from collections.abc import Collection, Mapping, Sequence
from math import comb

from smkc.errors import InputError, SettingError

__all__ = ["HIT_RANKS", "chance_hit_rates", "hit_rates"]

# Values of k: how many of the variables named are considered.
HIT_RANKS = (1, 3, 5)


def hit_rates(
    named: Sequence[Sequence[str]],
    responsible: Sequence[Collection[str]],
    *,
    ranks: Sequence[int] = HIT_RANKS,
    original: Mapping[str, str] | None = None,
) -> dict[int, float]:
    """Return, for each k, the share of events with a responsible variable among the first k named.

    Parameters
    ----------
    named
        one list per event, most likely variable first; an empty list, as for an event that was
        not found, is a miss.
    responsible
        one non-empty collection per event, in the same order.
    ranks
        the values of k.
    original
        original names of variables that churn renamed; other variables kept their names.

    Notes
    -----
    One hit is enough, however many variables are responsible: an event for which a third of all
    variables is responsible is easily hit by chance. Report :func:`chance_hit_rates` beside it.

    Examples
    --------
    >>> hit_rates([["cpu", "disk"], ["net", "cpu"]], [["disk"], ["net"]], ranks=(1, 2))
    {1: 0.5, 2: 1.0}
    """
    _check(responsible, ranks)
    if len(named) != len(responsible):
        raise InputError(
            f"causes were named for {len(named)} events, and {len(responsible)} have responsible "
            "variables; give both for the same events, an empty list where none was named"
        )
    for i, names in enumerate(named):
        if isinstance(names, str):
            raise InputError(f"event {i} names {names!r}, one string; give a list of variables")
    before = original or {}
    hits = []
    for names, blamed in zip(named, responsible, strict=True):
        hits.append([before.get(name, name) in blamed for name in names])
    return {k: sum(any(found[:k]) for found in hits) / len(hits) for k in ranks}


def chance_hit_rates(
    n_variables: Sequence[int] | int,
    responsible: Sequence[Collection[str]],
    *,
    ranks: Sequence[int] = HIT_RANKS,
) -> dict[int, float]:
    """Return the hit rates expected of variables named at random without repetition.

    Parameters
    ----------
    n_variables
        number of variables that can be named: one number for all events, or one per event.
    responsible, ranks
        as in :func:`hit_rates`.

    Examples
    --------
    >>> chance_hit_rates(4, [["cpu"], ["cpu", "disk"]], ranks=(1, 3))
    {1: 0.375, 3: 0.875}
    """
    _check(responsible, ranks)
    if isinstance(n_variables, int):
        n_variables = [n_variables] * len(responsible)
    if len(n_variables) != len(responsible):
        raise InputError(
            f"{len(n_variables)} numbers of variables for {len(responsible)} events; give one "
            "number an event, or one for all"
        )
    for i, (n, blamed) in enumerate(zip(n_variables, responsible, strict=True)):
        if n < len(set(blamed)):
            raise InputError(
                f"event {i} has {len(set(blamed))} responsible variables of {n}; count all "
                "variables that a method may name"
            )
    rates = {}
    for k in ranks:
        misses = [
            comb(n - len(set(blamed)), k) / comb(n, k) if k <= n else 0.0
            for n, blamed in zip(n_variables, responsible, strict=True)
        ]
        rates[k] = 1 - sum(misses) / len(misses)
    return rates


def _check(responsible: Sequence[Collection[str]], ranks: Sequence[int]) -> None:
    if not responsible:
        raise InputError("no event was given; measure on a recording with known causes")
    for i, blamed in enumerate(responsible):
        if isinstance(blamed, str):
            raise InputError(
                f"event {i} has the responsible variables {blamed!r}, one string; split it"
            )
        if not blamed:
            raise InputError(
                f"event {i} has no responsible variable, so that nothing can hit it; leave out "
                "events whose causes are unknown"
            )
    for k in ranks:
        if k < 1:
            raise SettingError(f"ranks={tuple(ranks)} holds {k}; look at the first 1 or more")
