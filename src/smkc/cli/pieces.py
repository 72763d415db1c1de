"""``smkc detect`` in pieces: files larger than memory, here or on a Ray cluster.

In: what ``smkc detect`` was told. Out: a file of scores, and what is printed about it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from smkc.errors import SettingError, SmkcError

if TYPE_CHECKING:
    from smkc.base import BaseDetector
    from smkc.scale import Summary

__all__ = ["Asked", "are_wanted", "score_in_pieces"]

# Files with more observations than this are read in pieces: in memory they take some 60 bytes each.
LARGE = 50_000_000


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was typed about reading in pieces; None where nothing was."""

    stream: bool | None = None
    resume: bool = False
    held: int | None = None
    engine: str = "local"
    address: str | None = None
    workers: int | None = None

    @property
    def by_name(self) -> str | None:
        """The option that asks for pieces whatever the size, if there is one."""
        if self.stream is False:
            return None
        told = {
            "--stream": self.stream,
            "--engine ray": self.engine == "ray",
            "--resume": self.resume,
            "--held": self.held is not None,
        }
        return next((name for name, is_told in told.items() if is_told), None)


def are_wanted(
    asked: Asked,
    file: Path,
    read: Mapping[str, Any],
    entity: str | None,
    out: Path | None,
    report: Path | None,
) -> bool:
    """Tell whether a file is to be read in pieces; refuse what pieces cannot give."""
    if asked.engine != "ray" and (asked.address is not None or asked.workers is not None):
        raise SettingError("--ray-address and --workers belong to --engine ray; add it")
    is_parquet = out is not None and out.suffix.lower() == ".parquet"
    name = asked.by_name
    if name is None:
        may = asked.stream is None and is_parquet and report is None
        return may and _is_large(file, read, entity)
    if report is not None:
        raise SettingError(
            f"--report shows a whole recording, which {name} does not hold; leave out one of them"
        )
    if not is_parquet:
        raise SettingError(f"{name} writes scores as Parquet; add --out NAME.parquet")
    return True


def score_in_pieces(
    asked: Asked,
    file: Path,
    out: Path,
    entity: str | None,
    read: Mapping[str, Any],
    model: Path | None,
    reference: Path | None,
    settings: Mapping[str, Any],
    quiet: bool,
    as_json: bool,
) -> bool:
    """Score a file in pieces and say what was found; tells whether there are alerts."""
    from smkc.scale import ScaleSettings, fit_file, score_file

    if model is None and reference is None:
        raise SettingError(
            "a file that is read in pieces needs --model or --reference to be judged by; fit a "
            "part of it that is normal with smkc fit, or read it whole with --no-stream"
        )
    limits = ScaleSettings() if asked.held is None else ScaleSettings(held=asked.held)
    kept: dict[str, Any] = {
        "read": read,
        "entity": entity,
        "settings": limits,
        "resume": asked.resume,
    }
    if asked.engine == "ray":
        from smkc.scale import RayCluster

        with RayCluster(asked.workers, asked.address) as cluster:
            detectors = _detectors(model, reference, read, entity, settings, cluster.fit_file)
            summary = cluster.score_file(file, detectors, out, **kept)
    else:
        detectors = _detectors(model, reference, read, entity, settings, fit_file)
        summary = score_file(file, detectors, out, **kept)
    learned_from = str(model or reference)
    if as_json:
        _print_json(file, out, learned_from, summary)
    else:
        _print_summary(out, learned_from, summary, quiet)
    return summary.n_alerts > 0


def _is_large(file: Path, read: Mapping[str, Any], entity: str | None) -> bool:
    from smkc.scale import Source

    try:
        return Source.open(file, read, entity).n_cells > LARGE
    except SmkcError:
        return False  # no Parquet, or whoever reads it will say what is wrong


def _detectors(
    model: Path | None,
    reference: Path | None,
    read: Mapping[str, Any],
    entity: str | None,
    settings: Mapping[str, Any],
    fit_large: "Callable[..., BaseDetector]",
) -> "BaseDetector | dict[str, BaseDetector]":
    from smkc.cli.reading import read_entities
    from smkc.loading import load, make_detector

    if model is not None:
        return load(model)
    assert reference is not None
    if entity is None and _is_large(reference, read, None):
        return fit_large(reference, make_detector(settings), read=read)
    learned = read_entities(reference, read, entity)
    if entity is None:
        return make_detector(settings).fit(learned[None])
    return {
        name: make_detector(settings).fit(recording)
        for name, recording in learned.items()
        if name is not None
    }


def _print_json(file: Path, out: Path, learned_from: str, summary: "Summary") -> None:
    from smkc.cli.printing import alert_record, print_json

    alerts = []
    for entity, alert in summary.alerts:
        record = alert_record(alert)
        del record["causes"]  # which are not sought in pieces
        alerts.append({"entity": entity, **record})
    print_json(
        {
            "file": str(file),
            "scores": str(out),
            "learned_from": learned_from,
            "rows": summary.rows,
            "observations": summary.observations,
            "entities": summary.entities,
            "unscored": summary.unscored,
            "n_alerts": summary.n_alerts,
            "alerts": alerts,
        }
    )


def _print_summary(out: Path, learned_from: str, summary: "Summary", quiet: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from smkc.cli.printing import MAX_PRINTED_ALERTS, console
    from smkc.plot.wording import duration
    from smkc.recording.times import show_time
    from smkc.recording.visible import visible

    screen = console()
    if not quiet:
        about = f" of {summary.entities:,} entities" if summary.entities > 1 else ""
        screen.print(
            f"Learned from {learned_from}. Judged {summary.rows:,} rows{about}, "
            f"{summary.observations:,} observations, in pieces.",
            markup=False,
        )
    if summary.alerts:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for heading in ("#", "entity", "start", "lasted", "p-value"):
            table.add_column(heading, no_wrap=True)
        for number, (entity, alert) in enumerate(summary.alerts[:MAX_PRINTED_ALERTS], start=1):
            lasted = duration(alert.start, alert.end)
            who, p_value = Text(visible(entity or "")), f"{alert.p_value:.2g}"
            table.add_row(str(number), who, show_time(alert.start), lasted, p_value)
        screen.print(table)
        n_more = summary.n_alerts - MAX_PRINTED_ALERTS
        if n_more > 0:
            screen.print(f"and {n_more:,} more; --json lists up to ten thousand")
        if not quiet:
            screen.print("Causes are not sought in pieces: smkc explain tells them for a part.")
    else:
        screen.print("No alerts: nothing was past the threshold.")
    if not quiet:
        typer.echo(f"Scores: {out}")
