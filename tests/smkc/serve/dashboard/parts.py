"""A small shop that pushes its telemetry to a real service, and a real browser that looks at it."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.support.wait import WebDriverWait
from tests.following import Playback
from tests.prometheus_server import free_port

from smkc.serve.api import Keys, Server, create_app
from smkc.serve.config import Listen, config_of
from smkc.serve.service import Service

STEP = 30_000
NOON = 1_790_000_010_000 // STEP * STEP
HISTORY_ROWS = 300
ROWS_AT_A_TIME = 10

METRICS = (("cpu", 0.4), ("latency", 0.1), ("queue", 12.0))
N_PODS = 3

HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
HOSTILE_POD = "</script><svg onload=\"document.title='broken'\">"

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
CHROMEDRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--window-size=1280,1000",
]

browser_marks = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None or CHROMEDRIVER is None,
        reason="no Chromium with its driver here; install both to see the dashboard",
    ),
]


class ToldClock:
    """Time that passes when it is told to, so that hours take seconds."""

    def __init__(self, start: int) -> None:
        self._now = start

    def now(self) -> int:
        return self._now

    def sleep(self, seconds: float, until: threading.Event) -> None:
        end = self._now + 1000 * seconds
        while self._now < end and not until.wait(0.004):
            pass

    def advance(self, milliseconds: int) -> None:
        self._now += milliseconds


class Shop:
    """A service that two parts of a shop push to, and what they push.

    One part has a name that a careless page would run as a script; so has one of its pods.
    """

    parts = ("cart", HOSTILE)
    ahead = 4 * STEP  # by which time passes while rows are waited for

    def __init__(
        self, folder: Path, keys: Keys | None = None, *, port: int = 0, **tables: Any
    ) -> None:
        self.clock = ToldClock(NOON + HISTORY_ROWS * STEP)
        self._keys = Keys() if keys is None else keys
        self._rng = np.random.default_rng(20260131)
        self._next = NOON
        config = config_of(
            {
                "data": str(folder),
                "watch": [
                    {
                        "name": "shop",
                        "source": "push",
                        "entity": "service",
                        "step": "30s",
                        "min_rows": HISTORY_ROWS - 10,
                        "match": {"service": ".+"},
                        "false_alarms_per_day": 3,
                        "self_test": False,
                    },
                    {"name": "idle", "source": "push", "match": {"__name__": "nothing"}},
                ],
                **tables,
            }
        )
        self.service = Service(config, self.clock)
        self.server = Server(create_app(self.service, self._keys), Listen(port=port))

    def __enter__(self) -> "Shop":
        self.service.start()
        self.server.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.server.stop()
        self.service.stop()

    @property
    def url(self) -> str:
        return self.server.url

    def open_again(self, port: int) -> None:
        """Put a new server in front of the service, at the same port."""
        self.server = Server(create_app(self.service, self._keys), Listen(port=port))
        self.server.start()

    def learn(self) -> None:
        """Push the history and wait until both parts are followed."""
        self._push(HISTORY_ROWS, "", "")
        self._wait(lambda lane: lane.phase == "following")

    def push(self, n_rows: int, *, slow: str = "", lost: str = "") -> None:
        """Push the next rows; one part may be slow or lose a pod meanwhile.

        A few at a time: what lies far ahead of the time last heard of is refused.
        """
        for at in range(0, n_rows, ROWS_AT_A_TIME):
            self._push(min(ROWS_AT_A_TIME, n_rows - at), slow, lost)

    def _push(self, n_rows: int, slow: str, lost: str) -> None:
        times = self._next + STEP * np.arange(n_rows)
        self.clock.advance(max(0, int(times[-1]) - self.clock.now()))
        series = {}
        for part in self.parts:
            load = 1 + 0.2 * np.sin(2 * np.pi * times / (40 * STEP))
            for number in range(N_PODS):
                pod = HOSTILE_POD if part == HOSTILE and number == 0 else f"pod-{number}"
                if part == lost and number == 2:
                    continue
                factor = 6.0 if part == slow and number == 0 else 1.0
                for metric, level in METRICS:
                    noise = self._rng.normal(0, 0.03, n_rows)
                    name = f"{metric}{_labels(pod=pod, service=part)}"
                    series[name] = (level * factor * (load + noise)).tolist()
        self._post({"time": (times - 1).tolist(), "series": series})
        self._next += n_rows * STEP
        self._wait(lambda lane: (lane.last_time or 0) >= self._next - STEP)

    def observe(self, name: str, n_rows: int) -> None:
        """Push a variable of no part for the latest rows, and let time pass."""
        times = self.clock.now() - 15_000 * np.arange(n_rows)
        self._post({"time": times.tolist(), "series": {name: [1.0] * n_rows}})
        for _ in range(40):
            self.clock.advance(1_500)
            time.sleep(0.01)

    def _post(self, content: dict[str, Any]) -> None:
        answer = httpx.post(
            f"{self.url}/api/v1/observations", json=content, headers=self.headers, timeout=30
        )
        assert answer.status_code in (200, 202), answer.text

    headers: dict[str, str] = {}  # noqa: RUF012 - set where there are tokens

    def _wait(self, is_there: Any) -> None:
        """Let time pass until all lanes are as they should be."""
        end = time.monotonic() + 600  # the first fit may have to wait for code to be compiled
        while time.monotonic() < end:
            lanes = self.service.watches()[0].lanes
            if len(lanes) == len(self.parts) and all(map(is_there, lanes)):
                return
            if self.clock.now() < self._next + self.ahead:
                self.clock.advance(STEP // 4)
            time.sleep(0.01)
        raise AssertionError([(one.phase, one.rows, one.problems) for one in lanes])


class PulledShop(Shop):
    """A shop whose telemetry is queried from a server that plays it back as Prometheus would.

    Its parts are ``cart`` and, on which that depends, ``catalog``. Notifications are kept for a
    receiver that never answers.
    """

    parts = ("cart", "catalog")
    ahead = 0

    def __init__(self, folder: Path, playback: Playback, **watch: Any) -> None:
        port = free_port()
        settings = {
            "name": "shop",
            "query": '{service!=""}',
            "entity": "service",
            "step": "30s",
            "lateness": "30s",
            "history": f"{HISTORY_ROWS * STEP // 1000}s",
            "min_rows": HISTORY_ROWS - 10,
            "false_alarms_per_day": 3,
            "self_test": False,
        }
        super().__init__(
            folder,
            port=port,
            public_url=f"http://127.0.0.1:{port}",
            prometheus={"url": playback.url},
            webhook=[{"name": "on call", "url": "http://127.0.0.1:9/"}],
            dependencies={"cart": ["catalog"]},
            watch=[settings | watch],
        )
        self._slow: list[tuple[int, int, str]] = []
        playback.values = self._values

    def learn(self) -> None:
        """Wait until both parts are followed."""
        self._next = self.clock.now()
        self._wait(lambda lane: lane.phase == "following")

    def push(self, n_rows: int, *, slow: str = "", lost: str = "") -> None:
        """Let the next rows be queried; one part may be slow meanwhile."""
        assert not lost, "nothing is lost here"
        self._slow.append((self._next, self._next + n_rows * STEP, slow))
        self._next += n_rows * STEP
        self.clock.advance(self._next - self.clock.now())
        self._wait(lambda lane: (lane.last_time or 0) >= self._next - STEP)

    def _values(self, at: int) -> dict[str, float]:
        """Return what is observed at a time."""
        rng = np.random.default_rng(at // STEP)
        load = 1 + 0.2 * np.sin(2 * np.pi * at / (40 * STEP))
        slow = {part for first, end, part in self._slow if first <= at < end}
        return {
            f"{metric}{_labels(pod=f'pod-{number}', service=part)}": float(
                level * (6.0 if part in slow and number == 0 else 1.0) * (load + noise)
            )
            for part in self.parts
            for number in range(N_PODS)
            for (metric, level), noise in zip(
                METRICS, rng.normal(0, 0.03, len(METRICS)), strict=True
            )
        }


@contextmanager
def pulled_shop(folder: Path, **watch: Any) -> Iterator[PulledShop]:
    """Run a shop that is queried; ``watch`` are further settings of its watch."""
    playback = Playback(lambda at: {})
    with playback.running(), PulledShop(folder, playback, **watch) as shop:
        yield shop


def _labels(**labels: str) -> str:
    quoted = (
        f'{name}="{value.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34))}"'
        for name, value in sorted(labels.items())
    )
    return "{" + ",".join(quoted) + "}"


@contextmanager
def chromium(folder: Path) -> Iterator[webdriver.Chrome]:
    """Start a browser of its own that notes what pages say and ask for."""
    options = webdriver.ChromeOptions()
    for flag in [*FLAGS, f"--user-data-dir={folder}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Driver(CHROMEDRIVER))
    driver.set_page_load_timeout(30)
    try:
        yield driver
    finally:
        driver.quit()


def look(driver: webdriver.Chrome, what: str, seconds: float = 20.0) -> Any:
    """Wait until an expression of the page holds; return it."""
    waiting = WebDriverWait(driver, seconds, poll_frequency=0.05)
    return waiting.until(lambda one: one.execute_script(f"return {what}"), f"never: {what}")


def media(driver: webdriver.Chrome, **features: str) -> None:
    """Pretend to be a visitor with certain preferences, such as prefers_color_scheme="dark"."""
    wanted = [{"name": name.replace("_", "-"), "value": one} for name, one in features.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})


def width(driver: webdriver.Chrome, pixels: int) -> None:
    """Make the window as wide as that."""
    size = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": pixels < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
