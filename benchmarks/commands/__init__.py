"""The commands of ``python -m benchmarks``, one file each.

In: what was typed. Out: tables on the terminal and in files. Nothing heavy is imported before a
command runs, so that ``--help`` is quick.
"""
