"""The workers of the pipeline: producers that send messages, consumers that process them.

In: the port of the broker; for a consumer, its queue and the folder of its results. Out: messages,
results and metrics.
"""

import fcntl
import math
import os
import threading
import time
from pathlib import Path

from tools.recorder.pipeline.stomp import Stomp
from tools.recorder.worker import Worker, serve

__all__ = ["POISON", "QUEUES", "run_consumer", "run_producer"]

# Queue -> messages per second of one producer, bytes of a message, seconds of work on it.
QUEUES = {
    "orders": (8.0, 300, 0.012),
    "images": (4.0, 6000, 0.030),
    "events": (10.0, 150, 0.006),
}

LIFETIME_SECONDS = 8.0
WAVE_SECONDS, WAVE_SHARE = 600.0, 0.3
PREFETCH = 5
RESULT_BYTES = 2000

# Prefix of a message that cannot be processed before the time given after it.
POISON = b"poison:"


class Producer(Worker):
    """A worker that sends to every queue and waits for the broker to confirm each message."""

    def __init__(self, stomp: int, password: str, slow: float) -> None:
        super().__init__("call_total", "call_seconds_sum", "call_error_total")
        self.stomp, self.password = stomp, password
        self.words |= {"slow_factor": slow, "burst": 1.0}
        for queue in QUEUES:
            threading.Thread(target=self._run, args=(queue,), daemon=True).start()

    def _run(self, queue: str) -> None:
        connection, until = None, 0.0
        rate, size, _ = QUEUES[queue]
        while True:
            wave = 1 + WAVE_SHARE * math.sin(2 * math.pi * time.time() / WAVE_SECONDS)
            time.sleep(self.rng.expovariate(rate * wave * self.words["burst"]))
            try:
                with self.timed("call_total", "call_seconds_sum"):
                    if connection is None or until < time.monotonic():
                        if connection is not None:
                            connection.close()
                            connection = None
                        connection = Stomp(self.stomp, self.password)
                        until = time.monotonic() + LIFETIME_SECONDS * self.rng.uniform(0.5, 1.5)
                    body = os.urandom(size)
                    connection.send("SEND", body, destination=f"/queue/{queue}", receipt="r")
                    connection.receive()
            except OSError:
                self.add("call_error_total")
                if connection is not None:
                    connection.close()
                connection = None
                time.sleep(0.5)


class Consumer(Worker):
    """A worker that processes the messages of one queue and writes the results under a lock."""

    def __init__(self, queue: str, stomp: int, password: str, out: Path, slow: float) -> None:
        super().__init__("task_total", "task_seconds_sum", "task_error_total", "connect_total")
        self.queue, self.stomp, self.password, self.out = queue, stomp, password, out
        self.words["slow_factor"] = slow
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                self._consume()
            except OSError:
                self.add("task_error_total")
                time.sleep(0.5)

    def _consume(self) -> None:
        """Process messages over one connection until its lifetime is over."""
        self.add("connect_total")
        connection = Stomp(self.stomp, self.password, timeout=5.0)
        until = time.monotonic() + LIFETIME_SECONDS * self.rng.uniform(0.5, 1.5)
        try:
            connection.send(
                "SUBSCRIBE",
                id=0,
                destination=f"/queue/{self.queue}",
                ack="client-individual",
                prefetch_count=PREFETCH,
            )
            while time.monotonic() < until:
                frame = connection.receive()
                self.in_flight = 1
                verdict = "ACK" if self._process(frame.body) else "NACK"
                connection.send(verdict, id=frame.headers["ack"])
                self.in_flight = 0
        finally:
            self.in_flight = 0
            connection.close()

    def _process(self, body: bytes) -> bool:
        """Process a message; return whether that succeeded."""
        with self.timed("task_total", "task_seconds_sum"):
            if body.startswith(POISON) and float(body[len(POISON) :]) > time.time():
                self.add("task_error_total")
                return False
            self.work(QUEUES[self.queue][2])
            try:
                self._note(body)
            except OSError:
                self.add("task_error_total")
                time.sleep(0.1)
                return False
        return True

    def _note(self, body: bytes) -> None:
        """Write a result to the small file system while holding the lock of the queue."""
        with (self.out / f"{self.queue}.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with (self.out / f"{self.queue}-{int(time.time()) // 10}.out").open("ab") as file:
                file.write((body * (1 + RESULT_BYTES // max(len(body), 1)))[:RESULT_BYTES])


def run_producer(port: int, stomp: int, password: str, slow: float) -> None:
    """Send messages until the process is ended."""
    serve(Producer(stomp, password, slow), port)
    while True:
        time.sleep(3600)


def run_consumer(port: int, queue: str, stomp: int, password: str, out: Path, slow: float) -> None:
    """Process messages until the process is ended."""
    serve(Consumer(queue, stomp, password, out, slow), port)
    while True:
        time.sleep(3600)
