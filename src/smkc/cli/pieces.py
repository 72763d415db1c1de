"""``smkc detect`` for files larger than memory, read in pieces, locally or on a Ray cluster.

In: the options of ``smkc detect``. Out: a file of scores, and a summary on standard output.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from smkc.base import BaseDetector
from smkc.cli.printing import MAX_PRINTED_ALERTS, alert_record, alert_table, console, print_json
from smkc.cli.reading import read_entities
from smkc.cli.settings import Settings
from smkc.errors import SettingError, SmkcError
from smkc.loading import load, make_detector
from smkc.scale import RayCluster, ScaleSettings, Source, Summary, score_file

# Files with more observations than this are read in pieces; one takes about 60 bytes of memory.
LARGE = 50_000_000


@dataclass(frozen=True, kw_only=True)
class InPieces:
    """A run of ``smkc detect`` that may read in pieces; None means that an option was not given."""

    file: Path
    out: Path | None
    entity: str | None
    model: Path | None
    reference: Path | None
    settings: Settings
    stream: bool | None
    resume: bool
    held: int | None
    engine: str
    address: str | None
    workers: int | None

    def are_wanted(self, report: Path | None) -> bool:
        """Return whether to read in pieces; raise SettingError for options that exclude it."""
        if self.engine != "ray" and (self.address is not None or self.workers is not None):
            raise SettingError("--ray-address and --workers belong to --engine ray; add it")
        is_parquet = self.out is not None and self.out.suffix.lower() == ".parquet"
        name = self._asking_option()
        if name is None:
            may = self.stream is None and is_parquet and report is None
            return may and self._is_large(self.file, self.entity)
        if report is not None:
            raise SettingError(
                f"--report shows a whole recording, which {name} does not hold; leave out one of "
                "them"
            )
        if not is_parquet:
            raise SettingError(f"{name} writes scores as Parquet; add --out NAME.parquet")
        return True

    def score(self, quiet: bool, as_json: bool) -> bool:
        """Score the file, print a summary, and return whether there are alerts."""
        if self.model is None and self.reference is None:
            raise SettingError(
                "a file that is read in pieces needs --model or --reference to learn from; fit a "
                "part of it that is normal with smkc fit, or read it whole with --no-stream"
            )
        assert self.out is not None
        limits = ScaleSettings() if self.held is None else ScaleSettings(held=self.held)
        kept: dict[str, Any] = {
            "read": self.settings.read,
            "entity": self.entity,
            "settings": limits,
            "resume": self.resume,
        }
        detectors = self._detectors()
        if self.engine == "ray":
            with RayCluster(self.workers, self.address) as cluster:
                summary = cluster.score_file(self.file, detectors, self.out, **kept)
        else:
            summary = score_file(self.file, detectors, self.out, **kept)
        if as_json:
            self._print_json(summary)
        else:
            self._print_summary(summary, quiet)
        return summary.n_alerts > 0

    def _asking_option(self) -> str | None:
        """Return the option that asks for pieces whatever the size of the file, or None."""
        if self.stream is False:
            return None
        given = {
            "--stream": self.stream,
            "--engine ray": self.engine == "ray",
            "--resume": self.resume,
            "--held": self.held is not None,
        }
        return next((name for name, is_given in given.items() if is_given), None)

    def _is_large(self, file: Path, entity: str | None) -> bool:
        try:
            return Source.open(file, self.settings.read, entity).n_cells > LARGE
        except SmkcError:
            return False  # not Parquet, or an error that reading it will report

    def _detectors(self) -> BaseDetector | dict[str, BaseDetector]:
        """Return the detector for all entities, or one for each."""
        if self.model is not None:
            return load(self.model)
        assert self.reference is not None
        settings, read = self.settings.detector, self.settings.read
        if self.entity is None and self._is_large(self.reference, None):
            raise SettingError(
                f"{self.reference} has more than {LARGE:,} observations, and what is normal is "
                "learned from all rows at once; write a stretch of normal rows that fits into "
                "memory to a file of its own, and give that as --reference"
            )
        learned = read_entities(self.reference, read, self.entity)
        if self.entity is None:
            return make_detector(settings).fit(learned[None])
        return {str(name): make_detector(settings).fit(one) for name, one in learned.items()}

    def _print_json(self, summary: Summary) -> None:
        alerts = []
        for entity, alert in summary.alerts:
            record = alert_record(alert)
            del record["causes"]  # not determined when a file is read in pieces
            alerts.append({"entity": entity, **record})
        print_json(
            {
                "file": str(self.file),
                "scores": str(self.out),
                "learned_from": str(self.model or self.reference),
                "rows": summary.rows,
                "observations": summary.observations,
                "entities": summary.entities,
                "unscored": summary.unscored,
                "n_alerts": summary.n_alerts,
                "alerts": alerts,
            }
        )

    def _print_summary(self, summary: Summary, quiet: bool) -> None:
        screen = console()
        if not quiet:
            about = f" of {summary.entities:,} entities" if summary.entities > 1 else ""
            screen.print(
                f"Learned from {self.model or self.reference}. Judged {summary.rows:,} "
                f"rows{about}, {summary.observations:,} observations, in pieces.",
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
            typer.echo(f"Scores: {self.out}")
