"""Scale: recordings larger than memory, and more than one machine.

In: files and a fitted detector. Out: the same scores as in memory, in files.
"""
