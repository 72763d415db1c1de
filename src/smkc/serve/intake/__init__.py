"""Intake: samples as they arrive -> rows of each lane's grid.

In: samples in any order, late or twice. Out: by entity, rows in order of time.
"""

from smkc.serve.intake.bins import Bins, rows_of
from smkc.serve.intake.entities import Intake
from smkc.serve.intake.samples import Samples

__all__ = ["Bins", "Intake", "Samples", "rows_of"]
