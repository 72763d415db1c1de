"""Levels that are usual in general and wrong for the hour, planted as the doctor plants them.

In: recordings with a daily season, real ones found through ``SMKC_DATA``, or made-up ones. Out:
counts of faults found by the default detector, and its false alerts in the unchanged rows.
"""

from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from benchmarks.alerts.columns import each_recording, truth_about
from benchmarks.claims.planted.counts import Count, fitted, n_false_alerts
from benchmarks.claims.planted.made_up import DAILY
from benchmarks.real.plan import Column
from smkc.doctor import Plant, hold_out, plant
from smkc.doctor.planting import LARGE
from smkc.doctor.trial import Judge, choose_places, fate, over
from smkc.recording import Recording

__all__ = ["SEASONAL", "clear_seasons", "clearly_wrong", "wrong_hour", "wrong_hours"]

DAY_SECONDS = 86_400.0

# Recordings with a daily season: dataset and number of the recording in it, or a made-up world.
SEASONAL: Mapping[str, tuple[str, int] | None] = MappingProxyType(
    {
        "asd/omi-1": ("asd", 0),
        "asd/omi-10": ("asd", 1),
        "jumpstarter/fleet3-s00": ("jumpstarter", 0),
        "jumpstarter/fleet3-s01": ("jumpstarter", 1),
        "wsd/fleet5m": ("wsd", 0),
        "lro/net2019": ("lro", 0),
        **dict.fromkeys(DAILY),
    }
)

# A variable has a clear daily season if the medians of the hours leave at most this share of its
# mean deviation. At most 10 variables take part: the doctor then changes one of them per fault.
LEFT_BY_HOUR = 0.8
MOST_SEASONAL = 10
FEWEST_OBSERVED = 100

# A level is clearly wrong if half of its values lie outside this share of the reference's values
# at the same hour.
USUAL_SHARE = 0.99

WRONG_HOUR_SECONDS = 4 * 3600.0
WRONG_HOUR_PLACES = 8
WRONG_HOUR_COPIES = 4  # few faults in each copy, as in reality
WRONG_HOUR_LIVE_ROWS = 4_320


def wrong_hour(part: str) -> list[Count]:
    """Plant a level that is wrong for the hour in one of the ``SEASONAL`` recordings."""
    place = SEASONAL[part]
    if place is None:
        reference, live = DAILY[part]()
        return wrong_hours(part, reference, live, np.zeros(len(live), np.bool_))
    name, number = place
    series = next(islice(each_recording(Column(name)), number, None))
    return wrong_hours(part, series.reference, series.test, truth_about(series).is_near)


def wrong_hours(
    part: str,
    reference: Recording,
    live: Recording,
    is_near: NDArray[np.bool_],
    *,
    n_places: int = WRONG_HOUR_PLACES,
) -> list[Count]:
    """Give one variable at a time the values of half a day away, for 4 hours.

    Returns the count of all faults, and that of the clearly wrong ones among them.

    Parameters
    ----------
    is_near
        (T,) whether a live row is close to a labelled event; places are chosen among the others.
    """
    live = live.rows(0, WRONG_HOUR_LIVE_ROWS).canonical()
    is_near = is_near[: len(live)]
    step = float(np.median(np.diff(live.times) / np.timedelta64(1, "s")))
    length = round(WRONG_HOUR_SECONDS / step)
    judge = Judge(fitted(reference))
    held = hold_out(reference, live, length, dict.fromkeys(clear_seasons(reference), DAY_SECONDS))
    untouched = judge.scores(live)
    rng = np.random.default_rng([0, 3])
    places = choose_places(over(untouched, judge.threshold) | is_near, n_places, length, rng)
    fates, is_clear = [], []
    for first in range(min(WRONG_HOUR_COPIES, n_places)):
        some = places[first::WRONG_HOUR_COPIES]
        planted, plants = plant(held, "wrong hour", LARGE, some, length, rng)
        scores, alerts = judge.scores(planted), judge.alerts(planted)
        fates += [fate(one, judge, scores, untouched, length, alerts) for one in plants]
        is_clear += [clearly_wrong(reference, planted, one) for one in plants]
    n_false = n_false_alerts(judge.alerts(live, explain=False), is_near)
    n_rows = int(np.count_nonzero(~is_near))
    clear = [one for one, is_wrong in zip(fates, is_clear, strict=True) if is_wrong]
    return [
        Count(
            case=case,
            part=part,
            found=sum(one.delay is not None for one in some),
            of=len(some),
            named=sum(one.delay is not None and one.is_named is True for one in some),
            false_alerts=n_false,
            rows=n_rows,
        )
        for case, some in (("wrong hour", fates), ("clearly wrong hour", clear))
    ]


def clearly_wrong(reference: Recording, planted: Recording, fault: Plant) -> bool:
    """Return whether the reference hardly ever has the fault's values at the same hours."""
    (name,) = fault.variables
    hours, values = _by_hour(planted, name, fault.first_row, fault.last_row + 1)
    usual_hours, usual = _by_hour(reference, name)
    is_outside = np.zeros(len(values), np.bool_)
    for hour in np.unique(hours):
        tail = 50 * (1 - USUAL_SHARE)
        low, high = np.percentile(usual[usual_hours == hour], [tail, 100 - tail])
        is_outside |= (hours == hour) & ((values < low) | (values > high))
    return bool(is_outside.mean() >= 0.5)


def clear_seasons(reference: Recording) -> list[str]:
    """Return the variables with a clear daily season, the clearest first, at most 10."""
    shares = []
    for name in reference.names:
        hours, values = _by_hour(reference, name)
        deviation = np.abs(values - np.median(values)).mean() if len(values) else 0.0
        if len(values) < FEWEST_OBSERVED or deviation == 0:
            continue
        left = values.copy()
        for hour in np.unique(hours):
            left[hours == hour] -= np.median(values[hours == hour])
        shares.append((float(np.abs(left).mean() / deviation), name))
    return [name for share, name in sorted(shares) if share <= LEFT_BY_HOUR][:MOST_SEASONAL]


def _by_hour(
    recording: Recording, name: str, first: int = 0, stop: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return (n,) hours of the day, and (n,) values of a variable in rows first to stop."""
    rows = recording.row_numbers
    is_wanted = recording.codes == recording.names.index(name)
    is_wanted &= (rows >= first) & (rows < (len(recording) if stop is None else stop))
    hours = recording.times.astype("datetime64[h]").astype(np.int64) % 24
    return hours[rows[is_wanted]], recording.values[is_wanted].astype(np.float64)
