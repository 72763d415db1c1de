"""The command line: arguments -> one library call -> print.

In: what was typed. Out: text for people on the terminal, or JSON for programs; an exit code:
0 done, 1 unexpected, 2 wrong usage or input, 3 alerts found (only with ``--fail-on-alert``), 4 runs
of a benchmark are left, 5 ``doctor`` says no, 130 interrupted, 141 nobody reads the output any
more.
"""

from smkc.cli.app import main

__all__ = ["main"]
