"""Recordings: what was observed, when, under which name.

In: files and frames, long or wide. Out: a :class:`Recording`, flat arrays of observations ordered
by time step; also the identity of variables (label sets, families) and their scaling.
"""

from smkc.recording.identity import Identity, canonical, identifier, parse
from smkc.recording.notes import Notes
from smkc.recording.reader import Aligned, aligned, read
from smkc.recording.recording import Recording
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
