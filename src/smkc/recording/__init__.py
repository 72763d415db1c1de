"""Recordings: what was observed, when, under which name.

In: files and frames as people have them, long or wide. Out: a :class:`Recording`, flat arrays
of observations ordered by time step, and beside it the identity of variables (label sets,
families) and their scaling.
"""

from smkc.recording.alignment import Aligned, aligned
from smkc.recording.identity import Identity, canonical, identifier, parse
from smkc.recording.reader import read
from smkc.recording.recording import Notes, Recording
from smkc.recording.scaling import Scaling
from smkc.recording.scaling_state import ScalingState

__all__ = [
    "Aligned",
    "Identity",
    "Notes",
    "Recording",
    "Scaling",
    "ScalingState",
    "aligned",
    "canonical",
    "identifier",
    "parse",
    "read",
]
