"""The benchmark: synthetic windows with known anomalies, competitors, metrics, tables.

In: a budget and a device. Out: scores in files, and tables and figures made from them, each beside
what the paper reports. Nothing else in the library imports this room.
"""

from smkc.bench.windows import KINDS, NORMAL, PADDING, Windows

__all__ = ["KINDS", "NORMAL", "PADDING", "Windows"]
