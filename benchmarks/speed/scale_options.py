"""Options that the timings of scale share: what file to make, and what to judge it by.

In: what is usual for a timing. Out: a parser, and what a result says of the file.
"""

import argparse

DETECTORS = ("evidence", "knn")
FORMS = ("wide", "long")


def parser(about: str | None, *, form: str, rows: int, entities: int) -> argparse.ArgumentParser:
    """Return a parser of the shared options, with these defaults."""
    options = argparse.ArgumentParser(description=about)
    options.add_argument("--variables", type=int, default=50)
    options.add_argument("--rows", type=int, default=rows, help="of each entity")
    options.add_argument("--entities", type=int, default=entities)
    options.add_argument("--detector", default="evidence", choices=DETECTORS)
    options.add_argument("--form", default=form, choices=FORMS)
    options.add_argument("--folder", help="where the file is written, then removed")
    return options


def told(asked: argparse.Namespace) -> dict[str, object]:
    """Return what a result says of the file that was asked for."""
    return {
        "observations": asked.rows * asked.variables * asked.entities,
        "detector": asked.detector,
        "form": asked.form,
        "entities": asked.entities,
        "variables": asked.variables,
    }
