"""Identity of variables: label sets as text in one canonical order, and families of variables.

In: a metric name with its labels, or a variable's identifier. Out: identifier text, its parts, or
the family that the variable belongs to.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from smkc.errors import SettingError

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_ESCAPED = re.compile(r"\\(.)")
_UNESCAPED = {"\\": "\\", '"': '"', "n": "\n"}

# Possessive repeats: the scan never backtracks, so its time is linear in the text.
_TEXT = r'"((?:[^"\\\n]++|\\["\\n])*+)"'
_BARE = r'[^\s="{},\\](?:[^="{},\\\n]*[^\s="{},\\])?'
_BARE_LABEL = re.compile(_BARE)
_LABEL = re.compile(rf" *+(?:{_TEXT}|({_BARE})) *+= *+{_TEXT} *+")


def identifier(name: str, labels: Mapping[str, str]) -> str:
    r"""Write a metric and its labels as one text, labels sorted and escaped as in Prometheus.

    Labels that ``name`` already carries are kept; ``labels`` takes precedence over them. A label
    name that would be ambiguous is quoted, as Prometheus does with any UTF-8 name.

    Examples
    --------
    >>> identifier("cpu", {"pod": "web-1", "host": "a"})
    'cpu{host="a",pod="web-1"}'
    >>> identifier('cpu{pod="web-1"}', {"host": "a"})
    'cpu{host="a",pod="web-1"}'
    >>> identifier("cpu", {})
    'cpu'
    """
    parts = parse(name)
    metric, all_labels = parts if parts is not None else (name, {})
    all_labels.update(labels)
    if not all_labels:
        return metric
    written = (
        f'{_label_name(label)}="{all_labels[label].translate(_ESCAPES)}"'
        for label in sorted(all_labels)
    )
    return f"{metric}{{{','.join(written)}}}"


def parse(text: str) -> tuple[str, dict[str, str]] | None:
    """Split an identifier into its metric name and its labels; None if it is malformed.

    Examples
    --------
    >>> parse('cpu{pod="web-1", host="a"}')
    ('cpu', {'pod': 'web-1', 'host': 'a'})
    >>> parse("cpu")
    ('cpu', {})
    >>> parse("cpu{pod}") is None
    True
    """
    metric, brace, _ = text.partition("{")
    labels: dict[str, str] = {}
    if not brace:
        return metric, labels
    at, end = len(metric) + 1, len(text) - 1
    if not text.endswith("}"):
        return None
    while at < end:
        found = _LABEL.match(text, at, end)
        if found is None:
            return None
        quoted, bare, value = found.groups()
        label = bare if quoted is None else _unescape(quoted)
        if label in labels:
            return None
        labels[label] = _unescape(value)
        at = found.end()
        if at < end:
            if text[at] != ",":
                return None
            at += 1
    return metric, labels


def canonical(text: str) -> str:
    """Return an identifier with its labels in canonical order; other text is not changed.

    Examples
    --------
    >>> canonical('cpu{pod="web-1", host="a"}')
    'cpu{host="a",pod="web-1"}'
    >>> canonical("pod-abc/cpu")
    'pod-abc/cpu'
    """
    return identifier(text, {})


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Rule for which variables measure the same thing and so form one family.

    Parameters
    ----------
    drop
        labels to leave out: the family is the metric with its remaining labels. If empty, the
        family is the metric name alone.
    pattern
        regular expression to search for in the variable's identifier: the family is its first
        group, or the whole match if it has no group. A variable without a match is its own family.

    Examples
    --------
    >>> Identity().family('cpu{pod="web-1",zone="a"}')
    'cpu'
    >>> Identity(drop=("pod",)).family('cpu{pod="web-1",zone="a"}')
    'cpu{zone="a"}'
    >>> Identity(pattern=r"/(.*)$").family("pod-abc/cpu")
    'cpu'
    """

    drop: tuple[str, ...] = ()
    pattern: str | None = None

    def __post_init__(self) -> None:
        drop: object = self.drop  # a settings file may hold anything
        if not isinstance(drop, list | tuple) or not all(isinstance(one, str) for one in drop):
            raise SettingError(f'drop={drop!r} must be a list of labels, such as ["pod", "host"]')
        object.__setattr__(self, "drop", tuple(drop))
        if self.pattern is None:
            return
        if self.drop:
            raise SettingError("a family is given by drop or by pattern, not both; leave one out")
        try:
            re.compile(self.pattern)
        except (re.error, TypeError, OverflowError) as error:
            raise SettingError(
                f"pattern {self.pattern!r} is not a regular expression ({error}); "
                "correct it, or leave it out to use the metric name as the family"
            ) from None

    def family(self, variable: str) -> str:
        """Return the family that a variable belongs to."""
        if self.pattern is not None:
            found = re.search(self.pattern, variable)
            if found is None:
                return variable
            group = found.group(1) if found.re.groups else None
            return found.group() if group is None else str(group)
        parts = parse(variable)
        if parts is None:
            return variable
        metric, labels = parts
        if not self.drop:
            return metric
        kept = {label: value for label, value in labels.items() if label not in self.drop}
        return identifier(metric, kept)


def _label_name(label: str) -> str:
    if _BARE_LABEL.fullmatch(label):
        return label
    return f'"{label.translate(_ESCAPES)}"'


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: _UNESCAPED[found.group(1)], text)
