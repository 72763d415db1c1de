"""What is said on the terminal while a system is followed: each thing once, and how far it is."""

import logging
import re
from dataclasses import replace

import pytest
from tests.following import FastClock, Playback, made_rows, pull_config, wait_until

from smkc.cli.watch import _logging
from smkc.cli.watching import Reporter
from smkc.serve.lane.fitting import about
from smkc.serve.messages import instant
from smkc.serve.rows import AlertRecord
from smkc.serve.service import Service

N_ROWS, STEP = 60, 15_000
ROWS = made_rows(1, N_ROWS, 4, churn=False)


def values(time):
    row = ROWS[(time - ROWS[0].time) // STEP] if ROWS[0].time <= time <= ROWS[-1].time else None
    return {} if row is None else dict(zip(row.names, row.values.tolist(), strict=True))


STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z "


def unstamped(capsys):
    """Return the lines on standard error without their times."""
    return [re.sub(f"^{STAMP}", "", line) for line in capsys.readouterr().err.splitlines()]


@pytest.fixture
def playback():
    with Playback(values).running() as server:
        yield server


@pytest.fixture
def service(playback, tmp_path):
    clock = FastClock(ROWS[-1].time, ROWS[-1].time)
    config = pull_config(playback.url, tmp_path, timeout="5s")
    with Service(config, clock) as service:
        yield service


def test_failing_source_is_reported_once_and_its_recovery_once(service, playback, capsys):
    wait_until(lambda: service.watches()[0].rows > 0)
    with _logging(quiet=False):
        reporter = Reporter(service, quiet=False)
        reporter.look()
        playback.fails = lambda: "error"
        service._clock.limit += STEP
        wait_until(lambda: sum(service.watches()[0].errors.values()) >= 3)
        reporter.look()
        playback.fails = lambda: ""
        wait_until(lambda: not service.watches()[0].last_error)
        reporter.look()
    said = [line for line in unstamped(capsys) if "answers 500" in line]
    assert [line.partition(":")[0] for line in said] == ["Problem", "Over"]
    assert said[0].startswith("Problem: shop: http")
    assert len(said[1]) < len("Over: ") + 104


def test_log_records_are_printed_unless_health_reports_them(capsys):
    log = logging.getLogger("smkc.serve.test")
    with _logging(quiet=False):
        log.warning("of the health", extra={"is_in_health": True})
        log.warning("of no health")
    with _logging(quiet=True):
        log.error("of the health, quietly", extra={"is_in_health": True})
        log.warning("too little")
    said = capsys.readouterr().err
    assert "of no health" in said
    assert "of the health, quietly" in said
    assert said.count("\n") == 2


def test_collecting_says_how_many_rows_of_how_many(service, capsys):
    reporter = Reporter(service, quiet=False)
    wait_until(lambda: service.watches()[0].rows == N_ROWS - 1)  # the last is too new to be asked
    wait_until(lambda: service.watches()[0].phase == "collecting")
    reporter.look()
    assert unstamped(capsys) == [
        "shop: collecting rows, 59 of 240, about 45 min more, as Prometheus holds only 15 min; "
        'min_rows = 120: 15 min, step = "5s": 5 min'
    ]
    reporter.look()
    assert capsys.readouterr().err == ""


def alert_of(watch):
    return AlertRecord(
        id="00112233445566aa",
        watch=watch,
        entity="",
        start=0,
        end=0,
        peak=0,
        first_row=0,
        last_row=0,
        peak_row=0,
        anomaly=1.2,
        p_value=1e-4,
        is_open=True,
        evidences={},
        causes_at=0,
        causes_row=0,
        causes_anomaly=1.2,
        told_anomaly=1.2,
    )


def test_opening_worsening_and_closing_of_an_alert_are_printed(service, capsys):
    alert = alert_of("shop")
    reporter = Reporter(service, quiet=False)
    reporter.begin("http://127.0.0.1:9469")
    capsys.readouterr()
    for one in (alert, replace(alert, anomaly=3.0), replace(alert, is_open=False), alert):
        reporter._tell_alert(one)
    said = unstamped(capsys)
    link = f"  http://127.0.0.1:9469/alerts/{alert.id}"
    assert [line.partition(":")[0] if line != link else "link" for line in said] == [
        *("ALERT", "link"),
        *("Worse", "link"),
        "Closed",
        *("ALERT", "link"),
    ]


def test_an_alert_in_maintenance_is_printed_as_such_and_again_once_it_is_sent(service, capsys):
    alert = alert_of("shop")
    reporter = Reporter(service, quiet=False)
    for one in (replace(alert, is_muted=True), alert, replace(alert, is_open=False)):
        reporter._tell_alert(one)
    said = [line for line in unstamped(capsys) if "alerts/" not in line]
    assert [line.partition(" since")[0].partition(", 1970")[0] for line in said] == [
        "ALERT: shop (maintenance, not sent)",
        "ALERT: shop",
        "Closed: shop",
    ]


def test_about_how_long():
    found = [about(ms) for ms in (400, 15_000, 119_000, 180_000, 3_600_000, 36_000_000)]
    assert found == ["1 s", "15 s", "119 s", "3 min", "60 min", "10 h"]


def test_invisible_characters_in_names_are_escaped(service, capsys):
    reporter = Reporter(service, quiet=False)
    reporter._tell_alert(alert_of("a\u202eb\u200bc\u3164d"))
    assert "a\\u202eb\\u200bc\\u3164d" in capsys.readouterr().err


def test_every_line_carries_its_time(service, capsys):
    reporter = Reporter(service, quiet=False)
    reporter.begin("http://127.0.0.1:9469")
    reporter._tell_alert(alert_of("shop"))
    with _logging(quiet=False):
        logging.getLogger("smkc.serve.test").warning("of no health")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 5
    assert [line for line in said if not re.match(STAMP, line)] == []
    assert said[0].startswith(f"{instant(service.now())[:19]}Z ")
