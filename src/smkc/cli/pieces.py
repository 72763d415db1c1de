"""``smkc detect`` for files larger than memory, read in pieces, locally or on a Ray cluster.

In: the options of ``smkc detect``. Out: a file of scores, and a summary on standard output.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from smkc.base import BaseDetector
from smkc.cli.printing import MAX_PRINTED_ALERTS, alert_record, alert_table, console, print_json
from smkc.cli.reading import read_entities
from smkc.cli.settings import Settings
from smkc.errors import SettingError, SmkcError
from smkc.loading import load, make_detector
from smkc.scale import RayCluster, Source, Summary, score_file

# Files with more observations than this are read in pieces; one takes about 60 bytes of memory.
LARGE = 50_000_000


def are_wanted(
    file: Path,
    read: Mapping[str, Any],
    entity: str | None,
    asking: Mapping[str, bool | None],
    out: Path | None,
    report: Path | None,
) -> bool:
    """Return whether to read in pieces; raise SettingError for options that exclude it.

    ``asking`` are the options that ask for it whatever the size of the file.
    """
    is_parquet = out is not None and out.suffix.lower() == ".parquet"
    name = next((name for name, is_given in asking.items() if is_given), None)
    if name is None:
        return is_parquet and report is None and _is_large(file, read, entity)
    if report is not None:
        raise SettingError(
            f"--report shows a whole recording, which {name} does not hold; leave out one of them"
        )
    if not is_parquet:
        raise SettingError(f"{name} writes scores as Parquet; add --out NAME.parquet")
    return True


def score(
    file: Path,
    detectors: BaseDetector | dict[str, BaseDetector],
    out: Path,
    cluster: RayCluster | None,
    **options: Any,
) -> Summary:
    """Score the file on the cluster, or on this machine without one."""
    if cluster is None:
        return score_file(file, detectors, out, **options)
    with cluster:
        return cluster.score_file(file, detectors, out, **options)


def learned(
    model: Path | None, reference: Path | None, settings: Settings, entity: str | None
) -> BaseDetector | dict[str, BaseDetector]:
    """Return the detector for all entities, or one for each."""
    if model is not None:
        return load(model)
    if reference is None:
        raise SettingError(
            "a file that is read in pieces needs --model or --reference to learn from; fit a "
            "part of it that is normal with smkc fit, or read it whole with --no-stream"
        )
    if entity is None and _is_large(reference, settings.read, None):
        raise SettingError(
            f"{reference} has more than {LARGE:,} observations, and what is normal is "
            "learned from all rows at once; write a stretch of normal rows that fits into "
            "memory to a file of its own, and give that as --reference"
        )
    found = read_entities(reference, settings.read, entity)
    if entity is None:
        return make_detector(settings.detector).fit(found[None])
    return {str(name): make_detector(settings.detector).fit(one) for name, one in found.items()}


def print_record(summary: Summary, file: Path, out: Path, learned_from: Path | None) -> None:
    """Print a summary as JSON."""
    alerts = []
    for entity, alert in summary.alerts:
        record = alert_record(alert)
        del record["causes"]  # not determined when a file is read in pieces
        alerts.append({"entity": entity, **record})
    print_json(
        {
            "file": str(file),
            "scores": str(out),
            "learned_from": str(learned_from),
            "rows": summary.rows,
            "observations": summary.observations,
            "entities": summary.entities,
            "unscored": summary.unscored,
            "n_alerts": summary.n_alerts,
            "alerts": alerts,
        }
    )


def print_summary(summary: Summary, out: Path, learned_from: Path | None, quiet: bool) -> None:
    """Print a summary in words."""
    screen = console()
    if not quiet:
        about = f" of {summary.entities:,} entities" if summary.entities > 1 else ""
        screen.print(
            f"Learned from {learned_from}. Judged {summary.rows:,} rows{about}, "
            f"{summary.observations:,} observations, in pieces.",
            markup=False,
        )
    if summary.alerts:
        entities, alerts = zip(*summary.alerts, strict=True)
        screen.print(alert_table(alerts, entities))
        n_more = summary.n_alerts - MAX_PRINTED_ALERTS
        if n_more > 0:
            screen.print(f"and {n_more:,} more; --json lists up to ten thousand")
        if not quiet:
            screen.print(
                "Causes are not determined in pieces; smkc explain names those of a moment."
            )
    else:
        screen.print("No alerts: nothing was past the threshold.")
    if not quiet:
        typer.echo(f"Scores: {out}")


def _is_large(file: Path, read: Mapping[str, Any], entity: str | None) -> bool:
    try:
        return Source.open(file, read, entity).n_cells > LARGE
    except SmkcError:
        return False  # not Parquet, or an error that reading it will report
