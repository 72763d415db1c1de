"""The commands of ``python -m benchmarks``, one file each.

In: command-line options. Out: tables on the terminal and in files. Slow imports are made inside the
commands, so that ``--help`` is quick.
"""
