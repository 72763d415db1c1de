"""The end-to-end table: milliseconds per window of inference and of a training step.

In: measurements taken on a device and stored beside the scores. Out: a table with the paper's
figures, and the ratio of the times of a plain version to ours.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.libraries import not_installed
from benchmarks.paper.jobs import RunSettings
from benchmarks.paper.plan import Plan
from benchmarks.paper.reported import reported
from benchmarks.provenance import provenance
from benchmarks.table import Cell, Row, Table
from smkc import progress

__all__ = ["end_to_end", "time_end_to_end"]

BACKBONES = {"self-attention": "attention", "linear attention": "linear"}

# Batch size by device and window length: large enough to keep a GPU busy.
TOGETHER = {"cuda": {32: 4096, 128: 256}, "cpu": {32: 16, 128: 1}}

# Size of the network in the paper's tables.
SIZE = {"patch": 2, "width": 128, "layers": 4, "stem_width": 32}

# Size of the network for budgets of one epoch, which only test that everything runs.
TRIAL_SIZE = {"width": 16, "layers": 1, "heads": 2, "stem_width": 8, "patch": 8}

COLUMNS = (
    "inference, L = 32",
    "inference, L = 128",
    "train step, L = 32",
    "train step, L = 128",
    "plain / ours, inference, L = 32",
    "plain / ours, inference, L = 128",
    "plain / ours, train step, L = 32",
    "plain / ours, train step, L = 128",
    "sketch, L = 32",
    "sketch, L = 128",
)


def time_end_to_end(settings: RunSettings) -> None:
    """Measure both backbones at both lengths on the settings' device, unless already measured."""
    path = _path(settings, settings.device)
    if path.exists():
        return
    try:
        from benchmarks.baselines.encoder_timing import time_encoder
    except ModuleNotFoundError as error:
        raise not_installed("the end-to-end table", error.name, error) from error
    sizes = TRIAL_SIZE if settings.budget.epochs == 1 else SIZE
    found: dict[str, Any] = {}
    together = TOGETHER["cpu" if settings.device == "cpu" else "cuda"]
    with progress.task(f"timing on {settings.device}", len(BACKBONES) * len(together)) as advance:
        for name, backbone in BACKBONES.items():
            for window, n_windows in together.items():
                timing = time_encoder(settings.device, backbone, window, n_windows, **sizes)
                found[f"{name}, {window}"] = asdict(timing)
                advance(1)
    made = provenance("timing", settings.budget.name, [0], settings.device)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"timings": found, "sizes": sizes, "machine": made}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def end_to_end(plan: Plan) -> Table:
    """Return the table of times of both backbones on every device measured so far."""
    rows: list[Row] = []
    notes = [
        "Milliseconds a window, m = 128, P = 2, median of 5. Inference is kernel image and "
        "encoder; a train step is kernel image, masked reconstruction, its gradient and the "
        "optimiser. Sketch is the way from observations to states before both.",
        "The paper does not name its GPU. The plain version is our model with every token, in "
        "float32, attention written out, pairs of time steps compared by torch's own functions, "
        "not compiled.",
    ]
    for device in ("cuda", "cpu"):
        try:
            content = json.loads(_path(plan.settings, device).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            notes.append(f"{device}: not measured yet.")
            continue
        made = content["machine"]
        machine = made["machine"] if device == "cpu" else made["device"]
        notes.append(f"{device}: {machine}, commit {made['commit']}, {made['date'][:10]}.")
        if content["sizes"] != SIZE:
            notes.append(f"{device}: a tiny network, {content['sizes']}: figures say nothing.")
        rows += [_row(name, device, content["timings"]) for name in BACKBONES]
    return Table(
        "end-to-end", "Kernel image and encoder, ms a window", COLUMNS, tuple(rows), tuple(notes)
    )


def _row(name: str, device: str, timings: dict[str, dict[str, float]]) -> Row:
    each = [timings[f"{name}, {window}"] for window in (32, 128)]
    cells = []
    for kind in ("inference", "train_step"):
        for window, timing in zip((32, 128), each, strict=True):
            paper = reported("end-to-end", name, f"{kind}_L{window}")
            cells.append(Cell(timing[kind], paper=paper if device == "cuda" else None))
    for kind in ("inference", "train_step"):
        cells += [Cell(timing[f"plain_{kind}"] / timing[kind]) for timing in each]
    cells += [Cell(timing["sketch"]) for timing in each]
    return Row(name, tuple(cells), group=device)


def _path(settings: RunSettings, device: str) -> Path:
    return settings.timings_folder / f"end-to-end-{device.replace(':', '-')}.json"
