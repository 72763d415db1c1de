"""Command-line options shared by the scale timings: the file to write and the detector to use.

In: the defaults of a timing. Out: a parser, and a description of the file for the result.
"""

import argparse

DETECTORS = ("evidence", "knn")
FORMS = ("wide", "long")


def parser(about: str | None, *, form: str, rows: int, entities: int) -> argparse.ArgumentParser:
    """Return a parser of the shared options with the given defaults."""
    options = argparse.ArgumentParser(description=about)
    options.add_argument("--variables", type=int, default=50)
    options.add_argument("--rows", type=int, default=rows, help="of each entity")
    options.add_argument("--entities", type=int, default=entities)
    options.add_argument("--detector", default="evidence", choices=DETECTORS)
    options.add_argument("--form", default=form, choices=FORMS)
    options.add_argument("--folder", help="where the file is written, then removed")
    return options


def told(asked: argparse.Namespace) -> dict[str, object]:
    """Return the description of the requested file for the result."""
    return {
        "observations": asked.rows * asked.variables * asked.entities,
        "detector": asked.detector,
        "form": asked.form,
        "entities": asked.entities,
        "variables": asked.variables,
    }
