"""Rules: which changes of some variables do not matter, and which always do, as users state.

In: rules by name pattern, and scaled observations. Out: the same observations, with harmless values
replaced by the variable's usual value, and without the variables that are to be left out; and which
observations are certain trouble.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError
from smkc.recording.identity import parse
from smkc.recording.recording import Recording

DIRECTIONS = {"": 0, "up": 1, "down": -1}

# Size of the cache of rules by variable name.
MAX_REMEMBERED = 65_536

# Values are 32-bit numbers.
MAX_VALUE = float(np.finfo(np.float32).max)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Rule for the variables that match a pattern.

    Parameters
    ----------
    match
        regular expression that matches the whole name of a variable, or its metric.
    only
        ``up`` or ``down``: the direction of change that matters; empty for both.
    at_least
        smallest distance from the usual value that matters, in the variable's own unit; for
        counters, in the unit of their rate.
    never
        whether to leave the variable out.
    alert_above, alert_below
        bounds in the same unit as ``at_least``: a value beyond one of them is certain trouble,
        however usual it is.

    Examples
    --------
    >>> rule = Rule(match="latency_.*", only="up")
    >>> rule.fits('latency_p95{pod="a"}'), rule.fits("errors")
    (True, False)
    """

    match: str
    only: str = ""
    at_least: float = 0.0
    never: bool = False
    alert_above: float | None = None
    alert_below: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.match, str) or not self.match:
            raise SettingError(f"match={self.match!r}: give a regular expression, as 'latency_.*'")
        try:
            re.compile(self.match)
        except re.error as error:
            raise SettingError(
                f"match={self.match!r} is no regular expression ({error}); correct it"
            ) from None
        if self.only not in DIRECTIONS:
            raise SettingError(f"only={self.only!r}: write 'up', 'down', or leave it out")
        is_number = isinstance(self.at_least, int | float) and not isinstance(self.at_least, bool)
        if not is_number or not 0 <= self.at_least < math.inf:
            raise SettingError(f"at_least={self.at_least!r}: give a number from 0 up")
        if not isinstance(self.never, bool):
            raise SettingError(f"never={self.never!r}: write true or false")
        self._check_bounds()

    @property
    def has_bounds(self) -> bool:
        """Whether some values are certain trouble."""
        return self.alert_above is not None or self.alert_below is not None

    def _check_bounds(self) -> None:
        for name in ("alert_above", "alert_below"):
            bound = getattr(self, name)
            is_number = isinstance(bound, int | float) and not isinstance(bound, bool)
            if bound is not None and not (is_number and abs(bound) <= MAX_VALUE):
                raise SettingError(f"{name}={bound!r}: give a number, such as 0.9")
        if self.has_bounds and self.never:
            raise SettingError(
                "never = true leaves the variable out, so that it cannot be beyond a bound; give "
                "one of them"
            )
        above, below = self.alert_above, self.alert_below
        if above is not None and below is not None and below > above:
            raise SettingError(
                f"alert_below={below!r} is more than alert_above={above!r}, so that every value "
                "would be trouble; exchange them"
            )

    def fits(self, variable: str) -> bool:
        """Return whether the rule applies to a variable."""
        if re.fullmatch(self.match, variable):
            return True
        parts = parse(variable)
        return parts is not None and re.fullmatch(self.match, parts[0]) is not None


def read_rules(given: object) -> tuple[Rule, ...]:
    """Make rules from mappings, as a configuration file holds them.

    Examples
    --------
    >>> read_rules([{"match": "free_.*", "only": "down"}])[0].only
    'down'
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise SettingError(
            f"rules={given!r}: give a list, such as [{{'match': 'latency_.*', 'only': 'up'}}]"
        )
    rules = []
    known = tuple(Rule.__dataclass_fields__)
    for number, one in enumerate(given, start=1):
        if not isinstance(one, Mapping) or "match" not in one:
            raise SettingError(f"rule {number}, {one!r}: give a table with match in it")
        unknown = [str(key) for key in one if key not in known]
        if unknown:
            raise SettingError(
                f"rule {number} has no setting {unknown[0]!r}; its settings are {', '.join(known)}"
            )
        try:
            rules.append(Rule(**one))
        except SettingError as error:
            raise SettingError(f"rule {number}: {error}") from None
    return tuple(rules)


class Rules:
    """Rules applied to recordings; for each variable the first rule that matches applies.

    ``centres`` holds the usual value of each variable of the reference data, by name.
    """

    def __init__(self, rules: Sequence[Rule], centres: Mapping[str, float]) -> None:
        self._rules = tuple(rules)
        self._centres = centres
        self._known: dict[str, Rule | None] = {}

    def kept(self, recording: Recording) -> Recording:
        """Return a recording without the variables whose rule says ``never``."""
        if not any(rule.never for rule in self._rules):
            return recording
        return recording.select(lambda name: not ((rule := self._of(name)) and rule.never))

    def applied(
        self, scaled: Recording, plain: NDArray[np.float32]
    ) -> tuple[Recording, NDArray[np.float32]]:
        """Replace harmless values by the usual ones, in scaled and in (N,) plain observations."""
        found = [self._of(name) for name in scaled.names] if self._rules else []
        if not any(found) or not scaled.n_observations:
            return scaled, plain
        direction = np.array([0 if rule is None else DIRECTIONS[rule.only] for rule in found])
        floor = np.array([0.0 if rule is None else rule.at_least for rule in found])
        centre = np.array([self._centres.get(name, np.nan) for name in scaled.names])
        codes, values = scaled.codes, scaled.values
        is_harmless = direction[codes] * values < 0
        is_harmless |= np.abs(plain - centre[codes]) < floor[codes]
        usual = centre[codes].astype(np.float32)
        plain = np.where(is_harmless & ~np.isnan(usual), usual, plain)
        return scaled.with_values(np.where(is_harmless, np.float32(0.0), values)), plain

    def has_bounds(self, name: str | None = None) -> bool:
        """Return whether the rule of a variable, by default any rule, has bounds."""
        if name is None:
            return any(rule.has_bounds for rule in self._rules)
        rule = self._of(name)
        return rule is not None and rule.has_bounds

    def beyond(self, scaled: Recording, plain: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return (N,) whether each plain observation is beyond a bound of its variable's rule."""
        # Bounds are rounded as the observations are: 0.1 is not above 0.1.
        bounds = np.full((2, len(scaled.names)), [[-np.inf], [np.inf]], np.float32)
        for column, name in enumerate(scaled.names):
            rule = self._of(name)
            if rule is not None and rule.alert_below is not None:
                bounds[0, column] = rule.alert_below
            if rule is not None and rule.alert_above is not None:
                bounds[1, column] = rule.alert_above
        least, most = bounds[:, scaled.codes]
        is_beyond: NDArray[np.bool_] = (plain < least) | (plain > most)
        return is_beyond

    def _of(self, name: str) -> Rule | None:
        if name not in self._known:
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            self._known[name] = next((rule for rule in self._rules if rule.fits(name)), None)
        return self._known[name]
