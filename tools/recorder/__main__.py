"""The command line: ``python -m tools.recorder record|export|check|picture SYSTEM FOLDER``.

In: arguments. Out: a recording, its dataset, a verdict on it or a picture of it; and the roles of
the recorder's own processes, which ``record`` starts.
"""

import argparse
import sys
from dataclasses import fields
from pathlib import Path

OWN_ROLES: dict[str, dict[str, type]] = {
    "app": {"port": int, "postgres": int, "redis": int, "password": str, "slow": float},
    "client": {"port": int, "nodes": str, "password": str, "rate": float, "slow": float},
    "consumer": {
        "port": int,
        "queue": str,
        "stomp": int,
        "password": str,
        "out": Path,
        "slow": float,
    },
    "producer": {"port": int, "stomp": int, "password": str, "slow": float},
    "customers": {"port": int, "target": int, "rate": float, "seed": int},
    "job": {"port": int, "seconds": float, "share": float, "megabytes": int},
    "writer": {"path": Path, "megabytes": float},
}


def main() -> None:
    """Run the command or role given as first argument; a role imports only what it needs."""
    if len(sys.argv) > 1 and sys.argv[1] in OWN_ROLES:
        _run_role(sys.argv[1], sys.argv[2:])
        return
    from tools.recorder.schedule import Phases
    from tools.recorder.systems import SYSTEMS

    parser = argparse.ArgumentParser(prog="python -m tools.recorder", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, told in (
        ("record", "start the system and record it; needs root"),
        ("export", "make the dataset of a recording"),
        ("check", "verify a dataset"),
        ("picture", "draw a dataset: presence, load, faults"),
    ):
        one = verbs.add_parser(verb, help=told)
        one.add_argument("system", choices=sorted(SYSTEMS))
        one.add_argument("folder", type=Path)
        if verb == "record":
            one.add_argument("--seed", type=int, default=1)
            one.add_argument("--kinds", default="", help="kinds of faults, separated by commas")
            for phase in fields(Phases):
                words = phase.name.replace("_", "-")
                one.add_argument(f"--{words}", type=float, default=phase.default, help="seconds")
        elif verb != "check":
            one.add_argument("--out", type=Path, help="where it goes; beside the recording if not")
    chosen = parser.parse_args()
    sys.exit(_do(chosen))


def _do(chosen: argparse.Namespace) -> int:
    from tools.recorder.schedule import Phases
    from tools.recorder.systems import SYSTEMS

    system, folder = SYSTEMS[chosen.system], chosen.folder.resolve()
    if chosen.verb == "record":
        from tools.recorder.record import record

        phases = Phases(**{phase.name: getattr(chosen, phase.name) for phase in fields(Phases)})
        kinds = tuple(name for name in chosen.kinds.split(",") if name)
        return record(system, folder, chosen.seed, phases, kinds)
    if chosen.verb == "export":
        from tools.recorder.export import export

        export(system, folder, chosen.out or folder / "dataset")
        return 0
    data = folder / "dataset" if (folder / "dataset").is_dir() else folder
    if chosen.verb == "check":
        from tools.recorder.check import check

        return check(system, data)
    from tools.recorder.picture import picture

    sys.stdout.write(f"{picture(system, data, chosen.out or data.parent / 'picture.png')}\n")
    return 0


def _run_role(role: str, words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--group")
    for name, kind in OWN_ROLES[role].items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = vars(parser.parse_args(words))
    del options["group"]
    if role == "app":
        from tools.recorder.shop.app import run_app

        run_app(**options)
    elif role == "client":
        from tools.recorder.cache.client import run_client

        run_client(**options)
    elif role == "consumer":
        from tools.recorder.pipeline.workers import run_consumer

        run_consumer(**options)
    elif role == "producer":
        from tools.recorder.pipeline.workers import run_producer

        run_producer(**options)
    elif role == "customers":
        from tools.recorder.customers import run_customers

        run_customers(**options)
    elif role == "job":
        from tools.hostwatch.toil import run_job

        run_job(**options)
    else:
        from tools.hostwatch.toil import write_to_disk

        write_to_disk(options["path"], options["megabytes"])


if __name__ == "__main__":
    main()
