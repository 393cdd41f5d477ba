"""`build-eye comment` as people type it, after a pass over a simulated day."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.applications import Starlette

from buildeye.simulator import build_past
from buildeye.simulator.app import create_app
from buildeye.simulator.server import ledger, serving
from tests.pipeline.places import Place

SEED = 7


@dataclass
class Seen:
    """A place after one pass, the simulated GitHub it speaks to, and the pull requests with something red."""

    place: Place
    app: Starlette
    red: list[int]

    def bodies(self, number: int) -> list[str]:
        return [post.body for post in self.app.state.board.comments_on(number)]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    past = build_past(SEED, datetime.now(UTC))
    app = create_app(past)
    with ExitStack() as stack:
        address = stack.enter_context(serving(app))
        place = Place.made(tmp_path_factory.mktemp("comment") / "place", address, past.full_name, 26)
        done = place.run("monitor")
        assert done.returncode == 0, done.stderr
        heads = {pull.number: pull.head_sha for pull in past.pulls}
        told = [f for f in place.findings() if f["pull_request"]]
        red = {f["pull_request"]["number"] for f in told if f["run"]["head_sha"] == heads[f["pull_request"]["number"]]}
        yield Seen(place, app, sorted(red))


def test_a_dry_run_prints_the_comment_and_posts_nothing(seen: Seen) -> None:
    done = seen.place.run("comment", str(seen.red[0]), "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<!-- build-eye -->\n\n### ")
    assert "comment would be created · check run (" in done.stdout.splitlines()[-1]
    assert ledger(seen.app).writes == []


def test_a_comment_is_posted_once_and_the_second_time_nothing_is(seen: Seen) -> None:
    number = str(seen.red[1])
    first = seen.place.run("comment", number)
    assert first.returncode == 0, first.stderr
    assert f"#{number}: " in first.stdout and "comment created https://" in first.stdout
    before = list(ledger(seen.app).writes)
    assert len(before) == 2
    second = seen.place.run("comment", number)
    assert second.stdout.count("says so already, nothing posted") == 2
    assert ledger(seen.app).writes == before


def test_json_names_what_was_done_and_holds_the_comment(seen: Seen) -> None:
    number = seen.red[2]
    done = seen.place.run("comment", str(number), "--no-check", "-o", "json")
    said: dict[str, Any] = json.loads(done.stdout)
    assert list(said) == [
        "pull_request", "head_sha", "dry_run", "conclusion", "headline", "comment", "check", "body",
    ]  # fmt: skip
    assert (said["pull_request"], said["dry_run"], said["check"]) == (number, False, None)
    assert said["comment"]["action"] == "created"
    assert seen.bodies(number) == [said["body"]]


def test_every_red_pull_request_of_the_day_gets_a_comment_without_secrets_or_calls(seen: Seen) -> None:
    assert len(seen.red) >= 5
    for number in seen.red:
        done = seen.place.run("comment", str(number), "--no-check")
        assert done.returncode == 0, done.stderr
        (body,) = seen.bodies(number)
        assert "%)" in body and "actions/runs/" in body


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("999999",), 2, "pull request 999999 of "),
        (("0",), 2, "Invalid value for 'PR'"),
        (("seven",), 2, "Invalid value for 'PR'"),
    ],
)
def test_what_cannot_be_told_is_refused_in_one_sentence(
    seen: Seen, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = seen.place.run("comment", *arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
