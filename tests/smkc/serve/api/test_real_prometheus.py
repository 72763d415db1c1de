"""A real Prometheus pushes to the API: with its token it is taken, and too fast it comes again."""

import re
import shutil
import socket
import subprocess
import time

import httpx
import pytest

from smkc.serve.intake.samples import unpack_samples

PROMETHEUS = shutil.which("prometheus")

pytestmark = [
    pytest.mark.prometheus,
    pytest.mark.skipif(PROMETHEUS is None, reason="prometheus is not installed"),
]

CONFIG = """
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: itself
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
remote_write:
  - url: {url}
    authorization: {{credentials: {token}}}
    queue_config: {{batch_send_deadline: 1s, min_backoff: 100ms, max_backoff: 1s}}
"""


@pytest.fixture
def prometheus(tmp_path):
    """Start one that pushes somewhere; ``prometheus(url, token)`` -> a function of its metrics."""
    running = []

    def start(url, token):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        file = tmp_path / "prometheus.yml"
        file.write_text(CONFIG.format(port=port, url=url, token=token))
        running.append(
            subprocess.Popen(
                [
                    PROMETHEUS,
                    f"--config.file={file}",
                    f"--storage.tsdb.path={tmp_path / 'tsdb'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

        def metric(name):
            try:
                text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
            except httpx.TransportError:
                return 0.0
            return sum(float(one) for one in re.findall(rf"^{name}{{.*}} (\S+)$", text, re.M))

        return metric

    yield start
    for process in running:
        process.kill()  # asked to end, it would try for a minute to send the rest
        process.wait(30)


def wait_for(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def test_what_it_pushes_is_taken(prometheus, locked_server, secrets, service):
    metric = prometheus(locked_server.url + "/api/v1/write", secrets["write"])
    wait_for(lambda: metric("prometheus_remote_storage_samples_total") > 500, "nothing was sent")

    def names():
        waiting = [unpack_samples(body) for _, body in service.store.inbox("shop")]
        return {name for samples in waiting for name in samples.names}

    wait_for(lambda: any(one.startswith("prometheus_build_info{") for one in names()), "no sample")
    assert metric("prometheus_remote_storage_samples_failed_total") == 0


def test_with_a_readers_token_it_is_refused(prometheus, locked_server, secrets):
    metric = prometheus(locked_server.url + "/api/v1/write", secrets["read"])
    failed = "prometheus_remote_storage_samples_failed_total"
    wait_for(lambda: metric(failed) > 0, "it was not refused")


@pytest.mark.slow
def test_pushing_too_fast_it_comes_again_and_loses_nothing(prometheus, serve, secrets, keys):
    server = serve(keys=keys, limits={"requests_per_minute": 2})
    metric = prometheus(server.url + "/api/v1/write", secrets["write"])
    retried = "prometheus_remote_storage_samples_retried_total"
    wait_for(lambda: metric(retried) > 0, "it was never held back")
    assert metric("prometheus_remote_storage_samples_failed_total") == 0
