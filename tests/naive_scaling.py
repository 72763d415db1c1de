"""Scaling in plain Python, a variable at a time: the slow twin that the tests compare with.

It imports nothing of smkc.
"""

import itertools
import math
import statistics
from collections import OrderedDict
from typing import Any

import numpy as np

Rows = list[dict[str, float]]


class NaiveScaling:
    """The same rules in plain Python, a variable at a time; it imports nothing of ours."""

    def __init__(self, reference: Rows, times: list[float], max_variables: int = 65_536) -> None:
        self.max_variables = max_variables
        self.settled: dict[str, dict[str, Any]] = {}
        history: dict[str, list[tuple[float, float]]] = {}
        for time, row in zip(times, reference, strict=True):
            for name, value in row.items():
                history.setdefault(name, []).append((time, f32(value)))
        history = {name: seen for name, seen in history.items() if len(seen) >= 32}
        found = {name: self.verdict([value for _, value in seen]) for name, seen in history.items()}
        for name, seen in history.items():
            is_counter = found[name] is True
            if found[name] is None:
                votes = [v for n, v in found.items() if family(n) == family(name) and v is not None]
                is_counter = 2 * sum(votes) > len(votes) if votes else named_as_counter(name)
            values = [value for _, value in seen]
            if is_counter:
                values = [rate(*seen[i - 1], *seen[i]) for i in range(1, len(seen))]
            centre = statistics.median(values)
            low, _, high = statistics.quantiles(values, n=4, method="inclusive")
            spread = max((high - low) / 1.349, 0.25 * statistics.pstdev(values))
            moves = spread > max(1e-6 * abs(centre), 1e-60)
            self.settled[name] = {
                "centre": centre, "spread": spread, "moves": moves, "counter": is_counter
            }  # fmt: skip
        for name, known in self.settled.items():
            if not known["moves"]:
                spread, is_counter = self.family(name)
                usable = spread > 0 and is_counter == known["counter"]
                known["used"] = spread if usable else max(0.01 * abs(known["centre"]), 1e-60)
            else:
                known["used"] = known["spread"]
        self.followed: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.last: dict[str, tuple[float, float]] = {}
        self.row = 0

    @staticmethod
    def verdict(values: list[float]) -> bool | None:
        n_rises = n_resets = 0
        for before, after in itertools.pairwise(values):
            n_rises += after > before
            n_resets += after < before / 2
            if before / 2 <= after < before:
                return False
        if min(values) < 0 or n_resets > 0.01 * (len(values) - 1):
            return False
        return True if n_rises >= 0.1 * (len(values) - 1) else None

    def family(self, name: str) -> tuple[float, bool]:
        members = [known for n, known in self.settled.items() if family(n) == family(name)]
        if not members:
            return 0.0, named_as_counter(name)
        is_counter = 2 * sum(known["counter"] for known in members) > len(members)
        spreads = [m["spread"] for m in members if m["moves"] and m["counter"] == is_counter]
        return (statistics.median(spreads) if spreads else 0.0), is_counter

    def scale(self, time: float, row: dict[str, float]) -> dict[str, float]:
        scaled = {}
        for name, value in row.items():
            z = self.scale_one(name, time, f32(value))
            if z is not None:
                scaled[name] = z
        if len(self.followed) > self.max_variables:
            ages = sorted((known["seen"] for known in self.followed.values()), reverse=True)
            newest = min(ages[int(0.75 * self.max_variables)], self.row - 1)
            for name in [n for n, known in self.followed.items() if known["seen"] <= newest]:
                del self.followed[name]
                self.last.pop(name, None)
        self.row += 1
        return scaled

    def scale_one(self, name: str, time: float, x: float) -> float | None:
        if name in self.settled:
            prior, is_counter = 0.0, self.settled[name]["counter"]
        else:
            prior, is_counter = self.family(name)
            empty = {"count": 0, "centre": 0.0, "spread": prior}
            self.followed.setdefault(name, empty)["seen"] = self.row
        if is_counter:
            before, self.last[name] = self.last.get(name), (time, x)
            if before is None:
                return None
            x = rate(*before, time, x)
        if name in self.settled:
            known = self.settled[name]
            return clipped((x - known["centre"]) / known["used"], 10.0)
        return self.follow(self.followed[name], prior, x)

    @staticmethod
    def follow(known: dict[str, Any], prior: float, x: float) -> float:
        k, centre, spread = known["count"], known["centre"], known["spread"]
        if k == 0:
            known.update(count=1, centre=x)
            return 0.0
        least = max(1e-6 * abs(centre), 1e-60)
        still = spread <= least
        if still and abs(x - centre) > least:
            k = min(k, 8)
        known["count"] = k + 1
        n = min(k + 1, 512)
        young = prior == 0 and k < 8
        width = max(0.01 * abs(centre), 1e-60) if still else spread * math.sqrt(1 + 1 / k)
        if young or still:
            known["centre"] = centre + (x - centre) / n
            variance = spread**2 * (n - 2) / (n - 1) + (x - centre) ** 2 / n
            known["spread"] = math.sqrt(variance)
        else:
            bent = clipped((x - centre) / width, 1.5)
            known["centre"] = centre + bent * width / n
            n += 32 if prior > 0 else 0
            known["spread"] = spread * math.sqrt(1 + (bent**2 / 0.7784655 - 1) / n)
        return 0.0 if young else clipped((x - centre) / width, 10.0)


def f32(value: float) -> float:
    return float(np.float32(value))


def clipped(value: float, most: float) -> float:
    return min(max(value, -most), most)


def family(name: str) -> str:
    return name.split("{")[0]


def named_as_counter(name: str) -> bool:
    return family(name).endswith(("_total", "_count", "_sum", "_bucket"))


def rate(time0: float, value0: float, time1: float, value1: float) -> float:
    return (value1 - value0 if value1 >= value0 else value1) / (time1 - time0)
