"""Blocks for tests: known columns, newcomers that are scaled already, and clocks."""

import numpy as np

from smkc.evidence.columns.block import Block


def block_of(values, newcomers=None, clocks=None):
    """Return a block of (n, A) values; without newcomers, at the times 0, 1, 2, ... by default."""
    values = np.asarray(values, np.float32)
    if newcomers is None:
        newcomers = np.empty((len(values), 0), np.float32)
    if clocks is None:
        clocks = np.arange(float(len(values)))
    return Block(
        rows=values,
        fresh=newcomers,
        values=values,
        fresh_values=newcomers,
        fresh_plain=newcomers,
        clocks=clocks,
        renewed=np.zeros(newcomers.shape, bool),
        adjusted=values,
    )
