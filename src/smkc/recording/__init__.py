"""Recordings: what was observed, when, under which name.

In: files and frames as people have them, long or wide. Out: a :class:`Recording`, flat arrays
of observations ordered by time step, and beside it the identity of variables (label sets,
families) and their scaling.
"""

from smkc.recording.recording import Notes, Recording

__all__ = ["Notes", "Recording"]
