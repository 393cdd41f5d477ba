"""A simulated GitHub with three weeks of past, and a place whose warehouse one pass has filled from it."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from buildeye.simulator import Past, build_past
from buildeye.simulator.server import running
from tests.agents.agent import Agent, over_stdio
from tests.pipeline.places import Place

FAILING = "tests/ut/sample/test_sampler.py"
_REPORT = f"""<testsuites><testsuite name="unit" tests="3">
<testcase file="{FAILING}" classname="TestSampler" name="test_topk" time="0.5"><failure message="Error"/></testcase>
<testcase file="{FAILING}" classname="TestSampler" name="test_topp" time="0.25"/>
<testcase file="{FAILING}" classname="TestSampler" name="test_seed"><skipped/></testcase>
</testsuite></testsuites>"""


@dataclass(frozen=True)
class Filled:
    """A folder with a configuration that is found by itself, beside a warehouse that a pass filled."""

    folder: Path
    repository: str


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this session share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared-agents"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def template(shared: Path) -> Path:
    """The place as one pass left it; whoever comes first makes it."""
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = shared / "moment.txt"
        if not done.exists():
            moment = datetime.now(UTC)
            past = build_past(7, moment)
            with running(past) as address:
                place = Place.made(shared / "template", address, past.full_name, 48)
                passed = place.run("monitor", "--dry-run")
            assert passed.returncode == 0, passed.stderr
            (place.folder / "junit.xml").write_text(_REPORT)
            done.write_text(moment.isoformat())
    return shared / "template"


@pytest.fixture(scope="session")
def past(template: Path) -> Past:
    """What happened, the same for every worker."""
    return build_past(7, datetime.fromisoformat((template.parent / "moment.txt").read_text()))


@pytest.fixture(scope="session")
def github(past: Past) -> Iterator[str]:
    """The address of the simulated GitHub."""
    with running(past) as address:
        yield address


@pytest.fixture(scope="module")
def filled(template: Path, past: Past, github: str, tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A place of this module's own: a warehouse in a folder serves one process at a time."""
    folder = tmp_path_factory.mktemp("agents") / "place"
    shutil.copytree(template, folder, symlinks=True)
    settings = json.loads((folder / "config.yaml").read_text())
    settings["api"]["base_url"] = github
    settings["storage"] = {"warehouse_dsn": "chdb://warehouse", "data_dir": "data"}
    (folder / "config").mkdir()
    (folder / "config" / "config.yaml").write_text(json.dumps(settings))
    return Filled(folder, past.full_name)


@pytest.fixture(scope="module")
def agent(filled: Filled) -> Iterator[Agent]:
    """An agent that started `build-eye mcp` in the place."""
    with over_stdio(filled.folder) as session:
        yield session
