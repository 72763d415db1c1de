"""Spans: the marked times of a watch, by users and by the configuration.

In: the store and the settings of a watch. Out: the spans that overlap a time range, newest first.
"""

from collections.abc import Sequence

from smkc.serve.config import WatchConfig
from smkc.serve.rows import SPAN_KINDS, MarkedSpan
from smkc.serve.store import Store

# Who marked the spans of the configuration.
CONFIGURATION = "configuration"


def spans_between(
    store: Store,
    watch: WatchConfig,
    since: int,
    until: int,
    *,
    entity: str | None = None,
    kinds: Sequence[str] = SPAN_KINDS,
) -> list[MarkedSpan]:
    """Return the spans that overlap a range in milliseconds, newest first.

    With an entity, those of other entities are left out.
    """
    found = store.spans.find(watch.name, since, until, entity=entity, kinds=kinds)
    for one in watch.maintenance:
        if one.kind in kinds and (entity is None or one.entity in ("", entity)):
            found += [
                MarkedSpan(
                    watch=watch.name,
                    kind=one.kind,
                    start=start,
                    end=end,
                    entity=one.entity or None,
                    who=CONFIGURATION,
                    note=one.note,
                )
                for start, end in one.between(since, until)
            ]
    return sorted(found, key=lambda span: (-span.start, -span.id))
