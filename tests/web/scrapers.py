"""A Prometheus or a VictoriaMetrics of its own that scrapes one address every second, ended by its process."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import httpx2
import pytest

from buildeye.ask import Prometheus
from buildeye.warehouse import Warehouse
from buildeye.web.spool import open_spool
from tests.warehouse.conftest import empty

from .pools import fill, metrics_server

PATIENCE: Final = 60.0
"""Seconds after which a server that does not start, or does not scrape, is a failure."""
PROGRAMS: Final = {
    "prometheus": (
        "--config.file={folder}/scrape.yml",
        "--storage.tsdb.path={folder}/data",
        "--web.listen-address={address}",
    ),
    "victoria-metrics": (
        "-promscrape.config={folder}/scrape.yml",
        "-storageDataPath={folder}/data",
        "-httpListenAddr={address}",
        "-search.latencyOffset=0s",
        "-storage.minFreeDiskSpaceBytes=1MB",
    ),
}


@contextmanager
def scraping(program: str, folder: Path, target: str, extra: Sequence[str] = ()) -> Iterator[Prometheus]:
    """A client of the server, once it has scraped `target` (an address) as the cluster `here`."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed (Debian: apt-get install {program})")
    address = f"127.0.0.1:{_free_port()}"
    (folder / "scrape.yml").write_text(_scrape_config(target, extra))
    arguments = [each.format(folder=folder, address=address) for each in PROGRAMS[program]]
    said = folder / "said.txt"
    with said.open("w") as out:
        process = subprocess.Popen([found, *arguments], stdout=out, stderr=subprocess.STDOUT, cwd=folder)
        try:
            with Prometheus(f"http://{address}", retries=0) as client:
                _until(lambda: _scraped(client, address), process, said)
                yield client
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _scrape_config(target: str, extra: Sequence[str]) -> str:
    host = target.removeprefix("http://")
    lines = [
        "scrape_configs:", "  - job_name: build-eye", "    scrape_interval: 1s", *(f"    {line}" for line in extra),
        "    static_configs:", f"      - targets: ['{host}']", "        labels: {cluster: here}",
    ]  # fmt: skip
    return "".join(f"{line}\n" for line in lines)


def _scraped(client: Prometheus, address: str) -> bool:
    try:
        httpx2.get(f"http://{address}/-/ready", trust_env=False, timeout=PATIENCE)
    except httpx2.TransportError:
        return False
    return [series.points[0].value for series in client.query("build_eye_up")] == [1.0]


def _until(done: Callable[[], bool], process: "subprocess.Popen[bytes]", said: Path) -> None:
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends and process.poll() is None:
        if done():
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing was scraped: {said.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    assert isinstance(port, int)
    return port


@contextmanager
def scraped_pools(program: str, warehouse: Warehouse, folder: Path) -> Iterator[Prometheus]:
    """A client of a server that has scraped our `/metrics` over the pools of `pools.fill`, behind a token."""
    empty(warehouse)
    fill(warehouse)
    with (
        closing(open_spool(folder)) as spool,
        metrics_server(warehouse, spool, token="right") as address,
        scraping(program, folder, address, ["authorization: {credentials: right}"]) as client,
    ):
        yield client
