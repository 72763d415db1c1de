"""``smkc fit``: learn what is normal from a file and keep it.

In: a file of reference data. Out: a model file for ``detect`` and ``explain``.
"""

from pathlib import Path
from typing import Annotated

import typer

from smkc.cli import options
from smkc.cli.failure import explained_failures

__all__ = ["fit"]


def fit(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet, or a folder of them.")],
    out: Annotated[Path, typer.Option(metavar="MODEL", help="Where to write the model.")],
    kind: options.KindOfDetector = None,
    device: options.Device = None,
    window: options.Window = None,
    stride: options.Stride = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    config: options.Config = None,
    setting: options.Set = None,
    time: options.TimeColumn = None,
    step: options.Step = None,
    read: options.Read = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Learn what is normal from a file of reference data and keep it as a model.

    The reference data should be ordinary times, churn included: a day or more, without trouble
    that you want to hear of. No labels are needed, and no refit when variables come and go.

    A detector that is trained (--detector recon, prediction or ensemble of both) holds out a fifth
    of the data, and tells from it when to stop and what a normal score is. Some thousand rows are
    a start. The model works without a GPU, wherever it was trained.

    **Examples**

    - `smkc fit last-week.parquet --out shop.smkc`
    - `smkc fit last-week.csv --out shop.smkc --step 30s --window 128 --set neighbours=10`
    - `smkc fit last-month.parquet --out shop.smkc --detector recon --device cuda --set epochs=20`
    """
    with explained_failures(quiet or as_json):
        from smkc.cli.printing import console, print_json, time_value
        from smkc.cli.reading import read_entities
        from smkc.cli.settings import gather
        from smkc.loading import make_detector

        settings = gather(
            config,
            setting or (),
            read or (),
            {
                "detector": kind.value if kind else None,
                "device": device,
                "window": window,
                "stride": stride,
                "false_alarm_rate": false_alarm_rate,
            },
            {"time": time, "step": step},
        )
        recording = read_entities(file, settings.read, None)[None]
        detector = make_detector(settings.detector).fit(recording)
        detector.save(out)
        if as_json:
            print_json(
                {
                    "model": str(out),
                    "detector": detector.kind,
                    "rows": len(recording),
                    "variables": len(recording.names),
                    "start": time_value(recording.times[0]),
                    "end": time_value(recording.times[-1]),
                    "threshold": detector.threshold_,
                    "false_alarm_rate": detector.false_alarm_rate,
                }
            )
        elif not quiet:
            console().print(
                f"Learned from {len(recording):,} rows of {len(recording.names):,} variables. "
                f"Model: {out} ({out.stat().st_size / 1e6:.1f} MB)",
                markup=False,
            )
