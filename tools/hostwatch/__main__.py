"""The command line: ``python -m tools.hostwatch record`` and ``export``, and the fleet's own roles.

In: arguments. Out: a recording, a dataset, or one process of the fleet.
"""

import argparse
from pathlib import Path


def main() -> None:
    """Run the role given as first argument; import only what it needs."""
    chosen = _parser().parse_args()
    role = chosen.role
    if role == "record":
        from tools.hostwatch.record import record
        from tools.hostwatch.schedule import Phases

        phases = Phases(warm=chosen.warm, normal=chosen.normal, faults=chosen.faults)
        record(chosen.folder.resolve(), chosen.seed, phases)
    elif role == "export":
        from tools.hostwatch.export import export

        export(chosen.folder.resolve(), chosen.out)
    elif role == "replica":
        from tools.hostwatch.replica import serve_replica

        calls = [name for name in chosen.calls.split(",") if name]
        serve_replica(chosen.port, calls, chosen.work_seconds, chosen.targets)
    elif role == "client":
        from tools.hostwatch.client import run_client

        run_client(chosen.port, chosen.rate, chosen.seed, chosen.targets)
    elif role == "job":
        from tools.hostwatch.toil import run_job

        run_job(chosen.port, chosen.seconds, chosen.share, chosen.megabytes)
    elif role == "hog":
        from tools.hostwatch.toil import hog_processor

        hog_processor()
    else:
        from tools.hostwatch.toil import write_to_disk

        write_to_disk(chosen.path, chosen.megabytes_a_second)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.hostwatch", description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)
    recording = roles.add_parser("record", help="record a machine under planted faults")
    recording.add_argument("folder", type=Path, help="where storage, schedule and log go")
    recording.add_argument("--seed", type=int, default=14)
    for phase, seconds in (("warm", 90), ("normal", 1800), ("faults", 3300)):
        recording.add_argument(f"--{phase}", type=int, default=seconds, help="seconds")
    exporting = roles.add_parser("export", help="make the dataset of a recording")
    exporting.add_argument("folder", type=Path, help="where the recording lies")
    exporting.add_argument("--out", type=Path, default=Path("data/hostwatch"))
    own: dict[str, dict[str, type]] = {
        "replica": {"port": int, "calls": str, "work-seconds": float, "targets": Path},
        "client": {"port": int, "rate": float, "seed": int, "targets": Path},
        "job": {"port": int, "seconds": float, "share": float, "megabytes": int},
        "hog": {},
        "writer": {"path": Path, "megabytes-a-second": float},
    }
    for role, options in own.items():
        one = roles.add_parser(role, help="one process of the fleet; started by record")
        one.add_argument("--group")
        for name, kind in options.items():
            one.add_argument(f"--{name}", type=kind, required=True)
    return parser


if __name__ == "__main__":
    main()
