"""Intake: selection of one watch's samples, by entity, with the watch's label rules applied.

In: samples and a watch's rules (labels that must match, labels to drop, the label that splits it).
Out: samples of each entity; dropped samples are counted. Parsed names are cached.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from smkc.recording import identifier, parse
from smkc.serve.config import Shard, WatchConfig
from smkc.serve.intake.samples import Samples

METRIC_LABEL = "__name__"  # Prometheus' label for the metric itself

MOST_REMEMBERED = 1 << 17
"""Number of variable names whose entity is cached (some 60 MB at 200 characters per name)."""


class Place(NamedTuple):
    """Destination of a name: its entity and its name there, or the counter for dropped samples."""

    entity: str = ""
    name: str = ""
    refusal: str = ""


class Intake:
    """Selects the samples of one watch and splits them by entity.

    Existing ``entities`` count towards ``max_lanes``. Dropped samples are counted: ``unmatched`` if
    their labels do not match, ``without_entity`` if the label that splits the watch is missing,
    ``over_lanes`` if the entity exceeds ``max_lanes``, ``elsewhere`` if another shard follows the
    entity.

    Examples
    --------
    >>> watch = WatchConfig(name="shop", source="push", entity="ns", drop_labels=("pod",))
    >>> names = ('cpu{ns="a",pod="x"}', 'cpu{ns="b"}', "up")
    >>> one = {"codes": np.arange(3), "times": np.zeros(3, np.int64), "values": np.ones(3)}
    >>> intake = Intake(watch)
    >>> parts = intake.by_entity(Samples(names=names, **one))
    >>> [(entity, part.names) for entity, part in parts.items()]
    [('a', ('cpu',)), ('b', ('cpu',))]
    >>> intake.without_entity
    1
    """

    def __init__(
        self, watch: WatchConfig, entities: Iterable[str] = (), shard: Shard | None = None
    ) -> None:
        self._watch, self._shard = watch, shard or Shard()
        self._patterns = {label: re.compile(text) for label, text in watch.match.items()}
        self._entities = dict.fromkeys(entities)
        self._places: dict[str, Place] = {}
        self.unmatched = self.without_entity = self.over_lanes = self.elsewhere = 0

    def by_entity(self, samples: Samples) -> dict[str, Samples]:
        """Return entity -> samples in order of arrival; the entity is "" if there is no split."""
        watch = self._watch
        if not (watch.match or watch.entity or watch.drop_labels):
            return {"": samples} if len(samples) else {}
        entities: dict[str, int] = {}
        names: list[dict[str, int]] = []
        entity_of, code_of = [], []  # for each name
        refused: dict[str, list[int]] = {}
        for at, name in enumerate(samples.names):
            place = self._places.get(name)
            if place is None:
                place = self._places[name] = self._place(name)
            entity, own_name, refusal = place
            if not refusal and entity not in entities and not self._is_welcome(entity):
                refusal = "over_lanes"
            if refusal:
                refused.setdefault(refusal, []).append(at)
                entity_of.append(-1)
                code_of.append(-1)
                continue
            number = entities.setdefault(entity, len(entities))
            if number == len(names):
                names.append({})
            own = names[number]
            entity_of.append(number)
            code_of.append(own.setdefault(own_name, len(own)))
        if len(self._places) > MOST_REMEMBERED:
            self._places = {name: self._places[name] for name in samples.names[:MOST_REMEMBERED]}
        for refusal, places in refused.items():
            n_readings = int(np.isin(samples.codes, places).sum())
            setattr(self, refusal, getattr(self, refusal) + n_readings)
        owners = np.array(entity_of, np.int64)[samples.codes]
        codes = np.array(code_of, np.int64)[samples.codes]
        order = np.argsort(owners, kind="stable")
        bounds = np.searchsorted(owners[order], np.arange(len(entities) + 1))
        result = {}
        for entity, number in entities.items():
            chosen = order[bounds[number] : bounds[number + 1]]
            if not len(chosen):  # names without readings
                continue
            result[entity] = Samples(
                names=tuple(names[number]),
                codes=codes[chosen],
                times=samples.times[chosen],
                values=samples.values[chosen],
            )
        return result

    def _is_welcome(self, entity: str) -> bool:
        if entity not in self._entities:
            if len(self._entities) >= self._watch.max_lanes:
                return False
            self._entities[entity] = None
        return True

    def _place(self, name: str) -> Place:
        metric, labels = parse(name) or (name, {})
        for label, pattern in self._patterns.items():
            text = metric if label == METRIC_LABEL else labels.get(label, "")
            if not pattern.fullmatch(text):
                return Place(refusal="unmatched")
        entity = labels.pop(self._watch.entity, "") if self._watch.entity else ""
        if self._watch.entity and not entity:
            return Place(refusal="without_entity")
        if entity and not self._shard.holds(entity):
            return Place(refusal="elsewhere")
        kept = {label: labels[label] for label in labels if label not in self._watch.drop_labels}
        return Place(entity=entity, name=identifier(metric, kept))
