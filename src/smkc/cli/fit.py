"""``smkc fit``: learn what is normal from a file and save it as a model.

In: a file of reference data. Out: a model file for ``detect`` and ``explain``.
"""

from pathlib import Path
from typing import Annotated

import typer

from smkc.cli import options
from smkc.cli.failure import explained_failures


def fit(
    file: options.File,
    out: Annotated[Path, typer.Option(metavar="MODEL", help="File to write the model to.")],
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
    """Learn what is normal from a file of reference data, and save it as a model.

    The reference data should show normal operation, including variables that come and go: a day or
    more, without faults that you want to be alerted to. No labels are needed, and the model need
    not be fitted again when variables come and go.

    A neural network (--detector recon, prediction, or ensemble for both) holds out a fifth of the
    data to decide when to stop training and to learn the scores of normal data. Give it at least
    some thousand rows. The model can be used without a GPU, wherever it was trained.

    **Examples**

    - `smkc fit last-week.parquet --out shop.smkc`
    - `smkc fit last-week.csv --out shop.smkc --step 30s --window 128 --set neighbours=10`
    - `smkc fit last-month.parquet --out shop.smkc --detector recon --device cuda --set epochs=20`
    """
    with explained_failures(quiet or as_json):
        from smkc.cli.printing import console, print_json, time_value
        from smkc.cli.reading import read_file
        from smkc.cli.settings import gather
        from smkc.loading import make_detector

        settings = gather(
            config,
            setting or (),
            read or (),
            {
                "detector": kind,
                "device": device,
                "window": window,
                "stride": stride,
                "false_alarm_rate": false_alarm_rate,
            },
            {"time": time, "step": step},
        )
        recording = read_file(file, settings.read)
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
