"""Every test of a deployment has a stage of its own, and everything it started ends with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.deploying.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A service to deploy."""
    stage = Stage(tmp_path)
    try:
        yield stage
    finally:
        stage.end()
