"""The command line: ``python -m tools.livetrial run``, ``export`` and ``replay``, and own roles.

In: arguments. Out: a trial with its table, a dataset, or one process of the stack.
"""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType


def main() -> None:
    """Run the role given as first argument; import only what it needs."""
    chosen = _parser().parse_args()
    role = chosen.role
    if role == "run":
        signal.signal(signal.SIGTERM, _stop)
        _run(chosen)
    elif role == "export":
        from tools.livetrial.export import export

        export(chosen.folder.resolve(), chosen.out)
    elif role == "replay":
        from tools.livetrial.outcome import table
        from tools.livetrial.replay import replay

        sys.stdout.write(table(replay(chosen.data)))
    elif role == "fleet":
        from tools.livetrial.fleet import serve_fleet

        serve_fleet(chosen.port, chosen.seed)
    elif role in ("hog", "write"):
        from tools.hostwatch.toil import hog_processor, write_to_disk

        if role == "hog":
            hog_processor()
        write_to_disk(chosen.path, chosen.megabytes)
    else:
        from tools.livetrial.redis_load import fill, flood, run_clients

        if role == "clients":
            run_clients(chosen.port, chosen.seed)
        elif role == "flood":
            flood(chosen.port, chosen.connections)
        else:
            fill(chosen.port, chosen.megabytes)


def _run(chosen: argparse.Namespace) -> None:
    from tools.livetrial.outcome import table
    from tools.livetrial.schedule import Phases, make_schedule
    from tools.livetrial.trial import run_trial

    phases = Phases(
        reference=chosen.reference,
        n_faults=chosen.faults,
        rest=chosen.rest,
        quiet=chosen.quiet,
        warm=chosen.warm,
        kill_every=chosen.kill_every,
        rollout_every=chosen.rollout_every,
    )
    schedule = make_schedule(chosen.seed, phases)
    sys.stdout.write(f"{schedule.total / 60:.0f} minutes, {phases.n_faults} faults\n")
    outcome = run_trial(
        chosen.folder.resolve(),
        schedule,
        watches=not chosen.no_watch,
        settings={} if chosen.min_rows is None else {"min_rows": chosen.min_rows},
        out=chosen.out,
    )
    if outcome is not None:
        sys.stdout.write(table(outcome))


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(f"stopped by signal {number}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.livetrial", description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)
    running = roles.add_parser("run", help="run the trial; print which faults were alerted")
    running.add_argument("folder", type=Path, help="new folder for storage, schedule and logs")
    running.add_argument("--seed", type=int, default=17)
    running.add_argument("--faults", type=int, default=12, help="how many faults")
    running.add_argument(
        "--rest", type=float, default=60.0, help="seconds between faults, up to half as many more"
    )
    running.add_argument("--warm", type=float, default=60.0, help="seconds that are not recorded")
    running.add_argument("--reference", type=float, default=1200.0, help="seconds learned from")
    running.add_argument(
        "--quiet", type=float, default=0.0, help="further seconds without a fault at the end"
    )
    running.add_argument(
        "--kill-every",
        type=float,
        default=0.0,
        help="at the end, kill -9 every part once, so many seconds apart; by default none",
    )
    running.add_argument(
        "--rollout-every", type=float, default=60.0, help="seconds from one rollout to the next"
    )
    running.add_argument("--no-watch", action="store_true", help="record without smkc watch")
    running.add_argument(
        "--min-rows",
        type=int,
        help="rows that smkc watch learns from at least, if not its default",
    )
    running.add_argument("--out", type=Path, help="folder for the dataset; none by default")
    exporting = roles.add_parser("export", help="write the dataset of a finished recording")
    exporting.add_argument("folder", type=Path, help="folder of the recording")
    exporting.add_argument("--out", type=Path, required=True)
    replaying = roles.add_parser("replay", help="judge a dataset as smkc watch would; no waiting")
    replaying.add_argument("data", type=Path, help="folder of the dataset")
    own: dict[str, dict[str, type]] = {
        "fleet": {"port": int, "seed": int},
        "clients": {"port": int, "seed": int},
        "flood": {"port": int, "connections": int},
        "fill": {"port": int, "megabytes": int},
        "write": {"path": Path, "megabytes": float},
        "hog": {},
    }
    for role, options in own.items():
        one = roles.add_parser(role, help="one process of the stack; started by run")
        for name, kind in options.items():
            one.add_argument(f"--{name}", type=kind, required=True)
    return parser


if __name__ == "__main__":
    main()
