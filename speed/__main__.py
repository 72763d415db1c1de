"""``python -m speed``: measure everything, print the table, keep it where asked."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from speed import evidence_rows, evidence_windows, growing, live, process, report, windows
from speed.timing import Neighbours

PARTS = {
    "windows": windows,
    "growing": growing,
    "live": live,
    "process": process,
    "evidence-windows": evidence_windows,
    "evidence-rows": evidence_rows,
}


def main() -> int:
    """Measure the parts asked for; exit with 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="speed", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the lines as JSON")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table as Markdown")
    parser.add_argument("--only", choices=PARTS, help="measure one part of the table")
    options = parser.parse_args()
    where = report.circumstances()
    for key, value in where.items():
        print(f"{key}: {value}")
    lines = []
    neighbours = Neighbours()
    for name in [options.only] if options.only else PARTS:
        for measured in PARTS[name].lines():
            line = replace(measured, others=neighbours.look())
            lines.append(line)
            print("  ".join(cell for cell in report.cells(line) if cell), flush=True)
    for path, text in ((options.json, report.as_json), (options.out, report.markdown)):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(lines, where), encoding="utf-8")
    missed = [line.work for line in lines if line.passed is False]
    print(f"{len(missed)} of {len(lines)} targets missed" if missed else "all targets met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
