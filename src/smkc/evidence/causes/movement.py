"""Movement: how far variables went from their own normal, in units of each one's reach.

In: rows of a recording, and the fitted model. Out: the largest distance of each variable that left
its usual range.
"""

import numpy as np

from smkc.evidence.columns.rows import seconds, table
from smkc.evidence.model import ReferenceEvidence
from smkc.evidence.settings import SETTINGS
from smkc.recording import Recording
from smkc.recording.rules import Rules


def movements(rows: Recording, known: ReferenceEvidence) -> dict[str, float]:
    """Return the largest distance of each variable that left its usual range, in reaches.

    The reach of a variable is the distance from its middle, up or down, that 5% of the reference
    rows exceed, but at least its spread and at least 1% of its level. If it has a season, the
    middle is that of the row's time. Variables that the reference does not know are left out.
    """
    asked, scaling = known.variables, known.scaling
    rules = Rules(known.rules, dict(zip(scaling.names, scaling.centre.tolist(), strict=True)))
    scaled, _ = rules.applied(*scaling.start().scale_both(rules.kept(rows.canonical())))
    values = table(scaled, {name: at for at, name in enumerate(known.asked_columns)})
    away = asked.with_distances(values, seconds(rows.times)) - asked.level.centre
    tail = np.expm1(asked.level.start) * asked.level.spread  # infinite where levels are not judged
    slot_of = {name: at for at, name in enumerate(scaling.names)}
    slots = [slot_of[name] for name in known.names]
    reach = np.ones(away.shape[1])  # the spread
    level = SETTINGS.tiny_share * np.abs(scaling.centre[slots]) / scaling.spread[slots]
    reach[: len(slots)] = np.maximum(level, 1.0)
    seasonal = asked.seasons.columns
    reach[values.shape[1] :] = reach[seasonal]
    up, down = np.maximum(np.where(np.isfinite(tail), tail, 0.0), reach)
    far = np.nan_to_num(np.where(away > 0, away / up, -away / down)).max(axis=0, initial=0.0)
    far[seasonal] = far[values.shape[1] :]
    return {name: float(x) for name, x in zip(known.names, far, strict=False) if x > 1.0}
