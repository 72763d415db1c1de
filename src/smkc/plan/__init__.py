"""Plan: what a workload costs, before it is run.

In: a sentence such as "1e6 series, 15 s, 30 days". Out: processor hours, memory and machines, from
coefficients that were measured.
"""

from smkc.plan.costs import Costs, measured_costs
from smkc.plan.estimate import Estimate, estimate
from smkc.plan.workload import ENGINES, Workload

__all__ = ["ENGINES", "Costs", "Estimate", "Workload", "estimate", "measured_costs"]
