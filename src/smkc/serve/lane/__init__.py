"""Lane: one recording that is followed, from its rows to verdicts, alerts and a model.

In: rows in order of time. Out: verdicts and alerts, committed together with the rows; models and
checkpoints, from which a lane is restored to exactly the same state.
"""

from smkc.serve.lane.lane import Lane
from smkc.serve.lane.lanes import LANES_FOLDER, Lanes

__all__ = ["LANES_FOLDER", "Lane", "Lanes"]
