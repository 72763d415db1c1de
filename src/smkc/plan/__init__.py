"""Plan: what a workload costs, before it is run.

In: a sentence such as "1e6 series, 15 s, 30 days". Out: processor hours, memory and machines, from
coefficients that were measured.
"""
