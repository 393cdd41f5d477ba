"""The tool about deployments: the journal, as the commands read it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from buildeye.deploy.asking import start
from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import open_journal
from buildeye.deploy.spec import load_spec
from buildeye.deploy.states import Happening
from tests.agents.agent import Agent, over_stdio
from tests.pipeline.places import Place

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose journal knows two deployments of `web`: the first was given up, the second is on its way."""
    folder = tmp_path_factory.mktemp("deployed")
    spec_file = folder / "deploy.yaml"
    command = [sys.executable, "-m", "buildeye.simulator.service", "--version", "{version}"]
    spec_file.write_text(json.dumps({"service": "web", "command": command, "listen": {"port": 18080}}))
    spec = load_spec(spec_file, {}, lambda _: None)
    clock = Clock()
    journal = open_journal(f"sqlite:///{folder / '.build-eye' / 'deploy.sqlite'}")
    first = start(journal, spec, str(spec_file), "v1", clock, "ops")
    journal.move(None, first.id, first.epoch, Happening.ABORT, clock.now(), f"wrong token {SECRET}\x1b[31m")
    start(journal, spec, str(spec_file), "v2", clock, "ops")
    journal.close()
    return folder


@pytest.fixture(scope="module")
def asking(place: Path) -> Iterator[Agent]:
    with over_stdio(place) as session:
        yield session


def of_command(place: Path, *arguments: str) -> str:
    done = Place(place).run("deploy", *arguments, "-o", "json", config=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_services_stand_as_the_command_says(asking: Agent, place: Path) -> None:
    found, text = asking.told("deployments")
    (shown,) = json.loads(of_command(place, "status"))
    assert [(each["version"], each["state"]) for each in found["standing"]] == [(shown["version"], shown["state"])]
    assert set(found["standing"][0]) == set(shown) and found["history"] == []
    assert "| web v2: created" in text


def test_the_past_of_a_service_is_told_newest_first_and_masked(asking: Agent, place: Path) -> None:
    found, text = asking.told("deployments", service="web")
    shown = json.loads(of_command(place, "history", "web"))
    assert [each["deployment_id"] for each in found["history"]] == [each["deployment_id"] for each in shown]
    assert [each["state"] for each in found["history"]] == ["created", "aborted"]
    assert SECRET not in json.dumps(found) + text and "\x1b" not in text


def test_a_service_that_is_not_known_is_one_sentence(asking: Agent) -> None:
    assert "there is no deployment of api" in asking.refused("deployments", service="api")
