import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests import promise
from tests.smkc.scale.conftest import check_agree, long_table, scores_of, write

from smkc.errors import InputError, ReadError, SettingError
from smkc.scale import RayCluster, ScaleSettings, score_file

pytest.importorskip("ray", reason='Ray is not installed; run: pip install ".[ray]"')
pytestmark = [
    pytest.mark.ray,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves its log files to the end
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PIECES = ScaleSettings(held=100, block=600, seconds=0)


@pytest.fixture(scope="module")
def cluster():
    with RayCluster(workers=2) as started:
        yield started


def kill_one(folder: Path, wanted: str, worker: str, killed: list[int]) -> None:
    """Kill a worker once a file tells that work is under way."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if list(folder.glob(wanted)):
            killed.append(int(worker.rpartition(":")[2]))
            os.kill(killed[0], signal.SIGKILL)
            return
        time.sleep(0.002)


@pytest.mark.parametrize("kind", ["evidence", "knn", "knn stride"])
def test_cluster_writes_the_same_file_as_one_machine(cluster, fleet, detectors, kind, tmp_path):
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    arguments = {"entity": "host", "settings": PIECES}
    expected = score_file(fleet, detectors[kind], here, **arguments)
    assert cluster.n_workers == 2
    summary = cluster.score_file(fleet, detectors[kind], there, **arguments)
    check_agree((there, summary), (here, expected), kind)


@pytest.mark.parametrize("kind", ["knn", "knn stride"])
def test_a_file_without_entities(cluster, live, detectors, kind, tmp_path):
    path = write(tmp_path / "live.parquet", long_table(live))
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    expected = score_file(path, detectors[kind], here, settings=PIECES)
    summary = cluster.score_file(path, detectors[kind], there, settings=PIECES)
    check_agree((there, summary), (here, expected), kind)
    promise.assert_scores_agree(scores_of(there), detectors[kind].decision_function(live))


def test_detectors_by_entity(cluster, fleet, detectors, tmp_path):
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    own = {
        "host-3": detectors["evidence"],
        "host-4": detectors["evidence prompt"],
        "host-5": detectors["evidence"],
    }
    arguments = {"entity": "host", "settings": PIECES}
    expected = score_file(fleet, own, here, **arguments)
    assert cluster.score_file(fleet, own, there, **arguments) == expected
    assert there.read_bytes() == here.read_bytes()


@pytest.mark.parametrize("kind", ["evidence", "knn", "knn of one"])
def test_lost_worker_is_replaced(cluster, fleet, live, detectors, kind, tmp_path):
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    arguments = {"entity": "host", "settings": PIECES}
    if kind == "knn of one":
        fleet = write(tmp_path / "live.parquet", long_table(live))
        arguments["entity"], kind = None, "knn"
    expected = score_file(fleet, detectors[kind], here, **arguments)
    killed: list[int] = []
    worker = cluster.processes()[0]
    arguments_of = (Path(f"{there}.parts"), "block-*/part-*.json", worker, killed)
    killer = threading.Thread(target=kill_one, args=arguments_of)
    killer.start()
    summary = cluster.score_file(fleet, detectors[kind], there, **arguments)
    killer.join()
    assert killed
    check_agree((there, summary), (here, expected), kind)


@pytest.mark.slow
def test_errors_of_workers_reach_the_caller(cluster, fleet, detectors, tmp_path):
    out = tmp_path / "out.parquet"
    no_duration = {"entity": "host", "read": {"step": 5}}
    with pytest.raises(InputError, match="the times are dates"):
        cluster.score_file(fleet, detectors["evidence"], out, **no_duration)
    assert not Path(f"{out}.parts").exists()
    by_value = tmp_path / "by_value.parquet"
    pq.write_table(pq.read_table(fleet).sort_by("value"), by_value, row_group_size=500)
    with pytest.raises(ReadError, match="not sorted by time well enough"):
        cluster.score_file(by_value, detectors["evidence"], out, entity="host", settings=PIECES)
    assert not out.exists()
    with pytest.raises(SettingError, match="workers=0"):
        RayCluster(workers=0)


@pytest.mark.slow
def test_connects_to_a_cluster_by_address(fleet, detectors, tmp_path):
    """A head that was started by itself, as ``ray start`` does it, is found by its address."""
    # Newer versions of Ray want a token, which a head that was not given one makes for itself.
    told = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
    head = subprocess.Popen(
        [sys.executable, "-c", HEAD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=told,
    )
    assert head.stdout is not None
    assert head.stdin is not None
    try:
        address = head.stdout.readline().strip()
        here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
        arguments = {"entity": "host", "settings": PIECES}
        score_file(fleet, detectors["evidence"], here, **arguments)
        script = tmp_path / "driver.py"
        detectors["evidence"].save(tmp_path / "model.smkc")
        script.write_text(DRIVER)
        places = [str(path) for path in (fleet, tmp_path / "model.smkc", there)]
        command = [sys.executable, str(script), address, *places]
        subprocess.run(command, check=True, timeout=300, env=told)
        assert there.read_bytes() == here.read_bytes()
    finally:
        head.stdin.close()
        head.wait(60)


HEAD = """
import logging, sys, tempfile
import ray
with tempfile.TemporaryDirectory(prefix="smkc-head-", ignore_cleanup_errors=True) as folder:
    told = ray.init(address="local", num_cpus=2, include_dashboard=False, _temp_dir=folder,
                    object_store_memory=128 * 2**20, logging_level=logging.ERROR)
    print(told.address_info["gcs_address"], flush=True)
    sys.stdin.read()
    ray.shutdown()
"""

DRIVER = """
import sys
import smkc
from smkc.scale import RayCluster, ScaleSettings
address, source, model, out = sys.argv[1:]
settings = ScaleSettings(held=100, block=600, seconds=0)
with RayCluster(workers=8, address=address) as cluster:
    assert cluster.n_workers == 2, cluster.n_workers
    cluster.score_file(source, smkc.load(model), out, entity="host", settings=settings)
"""
