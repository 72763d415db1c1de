"""The command line: parse arguments, call the library, print the result.

In: command-line arguments. Out: text on the terminal, or JSON; and an exit code: 0 success,
1 unexpected error, 2 wrong usage or input, 3 alerts found (only with ``--fail-on-alert``), 5 the
verdict of ``doctor`` or ``watch --check`` is no, 130 interrupted, 141 broken pipe.
"""

from smkc.cli.app import main

__all__ = ["main"]
