"""A real service with a history, and real servers in front of it."""

import hashlib
from contextlib import ExitStack
from dataclasses import replace

import httpx
import numpy as np
import pytest

from smkc.decide import Cause
from smkc.serve.api import Keys, Server, Token, create_app
from smkc.serve.config import Listen, config_of
from smkc.serve.incidents.keeping import keep
from smkc.serve.rows import AlertRecord, Row, Verdict
from smkc.serve.service import Service
from smkc.serve.store import Store

STEP = 15_000
START = 1_799_999_985_000 // STEP * STEP
N_ROWS = 200
ALERT = "00112233445566aa"

SECRETS = {
    "read": "secret-of-the-reader-1",
    "write": "secret-of-the-writer-2",
    "admin": "secret-of-the-admins-3",
    "expired": "secret-of-bygone-days-4",
}


def keys():
    """One token a role, and an admin's that has expired."""
    return Keys(
        Token(
            name=f"the-{name}",
            role="admin" if name == "expired" else name,
            digest=hashlib.sha256(secret.encode()).digest(),
            expires=1 if name == "expired" else None,
        )
        for name, secret in SECRETS.items()
    )


def configuration(folder, **limits):
    return config_of(
        {
            "data": str(folder),
            "watch": [
                {"name": "shop", "source": "push", "step": "15s"},
                {"name": "fleet", "source": "push", "step": "15s", "entity": "pod"},
            ],
            "limits": {"requests_per_minute": 1_000_000, "body_bytes": 1_000_000, **limits},
        }
    )


def fill(folder):
    """Write a history: rows with verdicts, and an alert among them."""
    rng = np.random.default_rng(20260131)
    names = tuple(f'load{{pod="p{i}"}}' for i in range(12))
    rows, verdicts = [], []
    for number in range(N_ROWS):
        seen = np.flatnonzero(rng.random(len(names)) < 0.8)
        row = Row(
            time=START + number * STEP,
            names=tuple(names[i] for i in seen),
            values=rng.normal(size=len(seen)).astype(np.float32),
        )
        rows.append(row)
        verdicts.append(
            Verdict(
                number=number,
                time=row.time,
                score=float(number),
                p_value=0.0 if number == 100 else 0.5,
                anomaly=float("inf") if number == 100 else 0.1,
                cardinality=len(seen),
                appeared=1,
                vanished=2,
                evidences={"level": 0.5, "presence": float("nan")} if number % 2 else {},
            )
        )
    alert = AlertRecord(
        id=ALERT,
        watch="shop",
        entity="",
        start=START + 100 * STEP,
        end=START + 110 * STEP,
        peak=START + 100 * STEP,
        first_row=100,
        last_row=110,
        peak_row=100,
        anomaly=float("inf"),
        p_value=0.0,
        is_open=False,
        evidences={"level": 9.0},
        causes_at=START + 100 * STEP,
        causes_row=100,
        causes_anomaly=float("inf"),
        told_anomaly=float("inf"),
        causes=(Cause(variable=names[0], share=0.7, kind="level", detail="it rose"),),
    )
    with Store.open(folder) as store:
        store.lane("shop", "").commit(
            rows,
            verdicts,
            [alert],
            [],
            regroup=lambda connection: keep(connection, [("close", alert)], configuration(folder)),
        )


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    fill(folder)
    running = Service(configuration(folder))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def open_app(service):
    return create_app(service, Keys())


@pytest.fixture(scope="module")
def locked_app(service):
    return create_app(service, keys())


@pytest.fixture(scope="module")
def open_server(open_app):
    with Server(open_app, Listen(port=0)) as server:
        yield server


@pytest.fixture(scope="module")
def locked_server(locked_app):
    with Server(locked_app, Listen(port=0)) as server:
        yield server


@pytest.fixture
def client(open_server):
    with httpx.Client(base_url=open_server.url, timeout=30, trust_env=False) as one:
        yield one


@pytest.fixture
def locked(locked_server):
    with httpx.Client(base_url=locked_server.url, timeout=30, trust_env=False) as one:
        yield one


@pytest.fixture(scope="session")
def secrets():
    return SECRETS


class Changed:
    """The real service, with other limits or with one thing that goes differently."""

    def __init__(self, service, *, limits=None, config=None, **different):
        self._service = service
        kept = replace(service.config, limits=replace(service.config.limits, **(limits or {})))
        self.config = replace(kept, **(config or {}))
        self._different = different

    def __getattr__(self, name):
        return self._different[name] if name in self._different else getattr(self._service, name)


@pytest.fixture
def changed(service):
    """Return the service, changed in some way; ``changed(limits={...}, health=...)``."""
    return lambda **changes: Changed(service, **changes)


@pytest.fixture
def serve(service):
    """Serve the service, changed in some way; ``serve(limits={...}, health=...)`` -> server."""
    with ExitStack() as stack:

        def start(keys=None, **changes):
            app = create_app(Changed(service, **changes), Keys() if keys is None else keys)
            return stack.enter_context(Server(app, Listen(port=0)))

        yield start


@pytest.fixture(name="keys")
def some_keys():
    return keys()
