"""Processes that load the machine: short jobs, a processor hog, and a writer to disk.

In: intensity and duration. Out: load; a job shows its progress under ``/metrics``.
"""

import hashlib
import os
import threading
import time
from pathlib import Path

from tools.stack.exposition import Handler, Server, own_figures, text_format

__all__ = ["hog_processor", "run_job", "write_to_disk"]

BLOCK = 256 * 1024
FILE_BYTES = 64 * 1024 * 1024
SLICE_SECONDS = 0.05


def run_job(port: int, seconds: float, share: float, megabytes: int) -> None:
    """Use a share of a core and some megabytes of memory for some seconds, then end."""
    held = os.urandom(megabytes * 1024 * 1024)
    begun = time.monotonic()
    rows = 0

    class Requests(Handler):
        def do_GET(self) -> None:
            progress = min(1.0, (time.monotonic() - begun) / seconds)
            figures = {"job_rows_total": float(rows), "job_progress": progress, **own_figures()}
            self.answer(200, text_format(figures))

    server = Server(("127.0.0.1", port), Requests)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while time.monotonic() - begun < seconds:
        stop = time.monotonic() + SLICE_SECONDS * share
        while time.monotonic() < stop:
            hashlib.sha256(held[rows % 1000 : rows % 1000 + 4000]).digest()
            rows += 1
        time.sleep(SLICE_SECONDS * (1 - share))


def hog_processor() -> None:
    """Compute without a pause until the process is ended."""
    block = os.urandom(4000)
    while True:
        for _ in range(1000):
            hashlib.sha256(block).digest()


def write_to_disk(path: Path, megabytes_a_second: float) -> None:
    """Write and sync blocks, overwriting one file again and again, until the process is ended."""
    block = os.urandom(BLOCK)
    pause = BLOCK / (megabytes_a_second * 1024 * 1024)
    with path.open("wb") as file:
        while True:
            due = time.monotonic() + pause
            if file.tell() >= FILE_BYTES:
                file.seek(0)
            file.write(block)
            file.flush()
            os.fsync(file.fileno())
            time.sleep(max(0.0, due - time.monotonic()))
