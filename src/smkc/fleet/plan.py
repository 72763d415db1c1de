"""Schedule of a synthetic fleet: lifetimes of pods, routine changes and incidents.

In: a random generator. Out: a :class:`Plan` from which the telemetry is made.
"""

import numpy as np

from smkc.fleet.pods import (
    RENAMED,
    ROWS_A_DAY,
    ROWS_A_MINUTE,
    ROWS_AN_HOUR,
    SERVICES,
    STEP_SECONDS,
    TOTAL_ROWS,
    Pod,
)
from smkc.fleet.trouble import Flapping, Leak, Loss, Storm, Trouble

SCRAPE_GAP_ROWS = 4  # rows without any sample


class Plan:
    """Lifetimes of pods, routine changes, scrape gaps, the row of the rename, and incidents.

    Each entry of ``routine`` is (first row, row after the last, kind, story).
    """

    def __init__(self, rng: np.random.Generator, with_incidents: bool) -> None:
        self._rng = rng
        self.pods: list[Pod] = []
        self.routine: list[tuple[int, int, str, str]] = []
        self.gaps: list[int] = []
        self.rename_row = TOTAL_ROWS
        self.troubles: list[Trouble] = []
        for service, (count, _) in SERVICES.items():
            revision = self._letters(4)
            for _ in range(count):
                self._start(service, revision, -ROWS_A_DAY)
        storm, leak, flap, loss = (
            self._row(2, hour) + int(rng.integers(-30, 31)) for hour in (5, 9, 14.5, 19)
        )
        for day in range(3):
            self._scale("cart", self._row(day, 8), SERVICES["cart"][0] + 1)
            if day == 0:
                self._gap(self._row(0, 4))
                self._roll_out("catalog", self._row(0, 10))
                self._gap(self._row(0, 13))
                self._roll_out("checkout", self._row(0, 16.5))
            if day == 1:
                self._gap(self._row(1, 6.5))
                self._roll_out("cart", self._row(1, 11))
                self._roll_out("catalog", self._row(1, 15))
                self._gap(self._row(1, 18))
            if day == 2:
                self._roll_out("catalog", self._row(2, 2.5))
                self._rename(self._row(2, 7))
                if with_incidents:
                    self._leak(leak)
                self._roll_out("cart", self._row(2, 12))
                self._gap(self._row(2, 16))
                self._roll_out("checkout", self._row(2, 17.25))
                if with_incidents:
                    self._lose(loss)
            self._scale("cart", self._row(day, 21.5), SERVICES["cart"][0])
        if with_incidents:
            self.troubles.append(Storm(self._alive("checkout", storm), storm, 25 * ROWS_A_MINUTE))
            self.troubles.append(Flapping(self._alive("catalog", flap), flap, 30 * ROWS_A_MINUTE))

    def _row(self, day: int, hour: float) -> int:
        return day * ROWS_A_DAY + int(hour * ROWS_AN_HOUR)

    def _letters(self, count: int) -> str:
        return "".join(self._rng.choice(list("bcdfghjklmnpqrstvwxz2456789"), count))

    def _alive(self, service: str, row: int) -> list[Pod]:
        return [pod for pod in self.pods if pod.service == service and pod.lives(row, row + 1)]

    def _start(self, service: str, revision: str, row: int) -> None:
        taken = {pod.name for pod in self.pods}
        name = f"{service}-{revision}-{self._letters(2)}"
        while name in taken:
            name = f"{service}-{revision}-{self._letters(2)}"
        self.pods.append(Pod(service, name, row))

    def _roll_out(self, service: str, row: int) -> None:
        """Replace the pods one by one; each new pod starts a minute before the old one ends."""
        revision, old = self._letters(4), self._alive(service, row)
        for turn, pod in enumerate(old):
            at = row + 4 * ROWS_A_MINUTE * turn
            pod.last = at + ROWS_A_MINUTE
            self._start(service, revision, at)
        story = f"{service}: {len(old)} pods replaced one by one, under new names"
        self.routine.append((row, row + 4 * ROWS_A_MINUTE * len(old), "rollout", story))

    def _scale(self, service: str, row: int, count: int) -> None:
        alive = self._alive(service, row)
        for _ in range(count - len(alive)):
            self._start(service, alive[-1].name.split("-")[1], row)
        for pod in alive[count:]:
            pod.last = row
        story = f"{service}: from {len(alive)} to {count} pods"
        self.routine.append((row, row + 1, "scaling", story))

    def _gap(self, row: int) -> None:
        self.gaps.append(row)
        story = f"nothing could be scraped for {SCRAPE_GAP_ROWS * STEP_SECONDS // 60} minutes"
        self.routine.append((row, row + SCRAPE_GAP_ROWS, "scrape gap", story))

    def _rename(self, row: int) -> None:
        self.rename_row = row
        service, old, new = RENAMED
        self.routine.append((row, row + 1, "rename", f"{service}: {old} is called {new} from now"))

    def _leak(self, row: int) -> None:
        """End one pod after a leak of 75 minutes; it restarts 3 minutes later, same name."""
        pod = self._alive("cart", row)[0]
        crash = row + 75 * ROWS_A_MINUTE
        self.pods.append(Pod(pod.service, pod.name, crash + 3 * ROWS_A_MINUTE))
        pod.last = crash
        self.troubles.append(Leak([pod], row, crash + 3 * ROWS_A_MINUTE - row))

    def _lose(self, row: int) -> None:
        """End all but one pod of a service at once; replacements start after 20 minutes."""
        lost, kept = self._alive("catalog", row)[:-1], self._alive("catalog", row)[-1:]
        for pod in lost:
            pod.last = row
            self._start("catalog", self._letters(4), row + 20 * ROWS_A_MINUTE)
        self.troubles.append(Loss([*lost, *kept], row, 20 * ROWS_A_MINUTE))
