"""A Prometheus of its own for tests, filled with a day of numbers before it starts, and ended by its process."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

Samples = Mapping[str, Iterable[tuple[datetime, float]]]
"""Numbers over time, by series as PromQL writes it: `name{label="value"}`."""

_LISTENS = re.compile(r"Listening on.* address=127\.0\.0\.1:(\d+)")
_READY = "ready to receive web requests"
_PATIENCE = 20.0  # seconds


def needed(program: str) -> str:
    """Where a program is; the test is skipped where it is not."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed (Debian: apt-get install prometheus)")
    return found


@contextmanager
def running(folder: Path, samples: Samples, web: str = "") -> Iterator[str]:
    """Serve `samples` while the context lasts; gives the address. `web` is a web configuration, such as its users."""
    program, data = needed("prometheus"), folder / "data"
    _fill(data, folder / "samples.txt", samples)
    (folder / "prometheus.yml").write_text("global: {scrape_interval: 1h}\n")
    (folder / "web.yml").write_text(web)
    said = folder / "said.txt"
    with said.open("w") as out:
        process = subprocess.Popen(
            [
                program,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--web.config.file={folder / 'web.yml'}",
                f"--storage.tsdb.path={data}",
                "--storage.tsdb.retention.time=100y",
                "--web.listen-address=127.0.0.1:0",
            ],
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        try:
            yield f"http://127.0.0.1:{_port(process, said)}"
        finally:
            process.terminate()
            process.wait(_PATIENCE)


def _fill(data: Path, file: Path, samples: Samples) -> None:
    lines = []
    for series, points in sorted(samples.items()):
        lines += [f"{series} {value} {at.timestamp():.0f}" for at, value in points]
    file.write_text("\n".join([*lines, "# EOF", ""]))
    command = [needed("promtool"), "tsdb", "create-blocks-from", "openmetrics", "--quiet", str(file), str(data)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def _port(process: "subprocess.Popen[bytes]", said: Path) -> int:
    ends = time.monotonic() + _PATIENCE
    while time.monotonic() < ends and process.poll() is None:
        text = said.read_text()
        if _READY in text and (found := _LISTENS.search(text)):
            return int(found[1])
        time.sleep(0.02)
    raise AssertionError(f"Prometheus did not start: {said.read_text()[-2000:]}")


def every(minutes: int, since: datetime, hours: float) -> Iterator[datetime]:
    """Moments so many minutes apart, both ends included."""
    return (since + timedelta(minutes=m) for m in range(0, int(hours * 60) + 1, minutes))
