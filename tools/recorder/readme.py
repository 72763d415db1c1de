"""The README of a dataset, generated from the recording.

In: the system, the columns and the faults. Out: README.md beside the data.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.recorder.monitoring import SCRAPE_SECONDS
from tools.recorder.schedule import Phases
from tools.recorder.system import System
from tools.stack.dataset import Columns, observed

__all__ = ["write_readme"]

TEXT = """\
# {name}: {what}

Real software from Debian's packages on one machine, watched by Prometheus every {step} seconds on
{day}: {reference:.0f} minutes of normal life as the reference, then {test:.0f} minutes with
{n_faults} faults. Routine changes went on throughout. It is the project's own recording.

Licence: CC0-1.0. Do with it what you like.

## How it was made

```
python -m tools.recorder record {name} FOLDER --seed {seed}{options}
python -m tools.recorder export {name} FOLDER
```

- Machine: {processors} processors, {memory_gb} GB of memory, {kernel}, {distribution}.
- Software: {packages}; Python {python} for the load and the workers.
- `schedule.json` was written before the start; {warm:.0f} s after the start were left out.
- All ran in namespaces of its own, on a loopback of its own.

## Load of the machine

{busy_before} of {processors} processors were busy in the {rest:.0f} s before the start, when
nothing of the recording ran. Below, each as 5%, median and 95% of the rows; others are what no
group of the recording's processes accounts for, which includes the kernel.

| | reference | with faults |
|---|---|---|
| load average, 1 minute | {load1_reference} | {load1_faults} |
| busy processors | {busy_processors_reference} | {busy_processors_faults} |
| of others | {busy_processors_of_others_reference} | {busy_processors_of_others_faults} |

## Files

| file | rows | variables | at a time | anomalous |
|---|---|---|---|---|
{parts}

`time` is int64, seconds since 1970, {step} apart; one float32 column per variable, null where it
was absent; `label` is int8, 1 while a fault is on. Variables are named as in Prometheus, with the
labels `pod` and `service` (members of the system), `group` (processes), and a few more. Counters
are rates over 8 s; values keep 5 digits. A fault shows a little late and lasts a little longer than
its label.

- `events.csv`: series, part, start, end (exclusive, seconds since 1970), responsible variables
  separated by spaces, kind, the service to blame (`machine` for none of the system's), symptoms:
  variables of others that suffer from the fault and are not to blame.
- `routine.csv`: start, end, kind, service and a sentence for each routine change; not labelled.
- `machine.json`: machine, versions and load. `schedule.json`: what was planned.

## Faults

| kind | how often | what was done |
|---|---|---|
{kinds}
"""


def write_readme(
    system: type[System],
    out: Path,
    columns: Columns,
    times: NDArray[np.int64],
    labels: NDArray[np.int8],
    in_test: NDArray[np.bool_],
    faults: Sequence[Mapping[str, Any]],
) -> None:
    """Write README.md."""
    machine = json.loads((out / "machine.json").read_text(encoding="utf-8"))
    schedule = json.loads((out / "schedule.json").read_text(encoding="utf-8"))
    phases = schedule["phases"]
    figures = {
        key: " / ".join(f"{value:g}" for value in values)
        for key, values in machine.items()
        if key.endswith(("_reference", "_faults"))
    }
    parts = []
    for part, rows in (("train", ~in_test), ("test", in_test)):
        names = observed(columns, rows)
        present = np.sum([np.isfinite(columns[name][rows]) for name in names], axis=0)
        parts.append(
            f"| {system.name}.{part}.parquet | {rows.sum()} | {len(names)} | {present.min()} to "
            f"{present.max()} | {labels[rows].mean():.3f} |"
        )
    counts = Counter(fault["kind"] for fault in faults)
    kinds = [
        f"| {kind.name} | {counts[kind.name]} | {kind.what} |"
        for kind in system.kinds
        if counts[kind.name]
    ]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    text = TEXT.format(
        **{**machine, **figures, "packages": packages, "python": machine["python"]},
        name=system.name,
        what=system.what,
        step=SCRAPE_SECONDS,
        day=datetime.fromtimestamp(int(times[0]), UTC).date().isoformat(),
        reference=phases["reference"] / 60,
        test=phases["faults"] / 60,
        warm=phases["warm"],
        rest=phases["rest"],
        n_faults=len(faults),
        seed=schedule["seed"],
        options=_options(phases),
        busy_before=machine["busy_processors_before"],
        parts="\n".join(parts),
        kinds="\n".join(kinds),
    )
    (out / "README.md").write_text(text, encoding="utf-8")


def _options(phases: Mapping[str, float]) -> str:
    """Return the command-line options for phases whose lengths are not the defaults."""
    usual = vars(Phases())
    return "".join(
        f" --{name.replace('_', '-')} {value:g}"
        for name, value in phases.items()
        if value != usual[name]
    )
