"""Lane: one recording that is followed, from its rows to verdicts, alerts and a model.

In: rows in order of time. Out: what is said of them, committed with them; models and checkpoints
from which a lane comes back exactly as it was.
"""

from smkc.serve.lane.lane import CHECKPOINT_ROWS, Lane
from smkc.serve.lane.lanes import LANES_FOLDER, Lanes

__all__ = ["CHECKPOINT_ROWS", "LANES_FOLDER", "Lane", "Lanes"]
