"""`build-eye sync` and `build-eye backfill`: what they say, what they refuse, and that no secret shows anywhere."""

import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from buildeye.simulator import Faults, Past, build_busy_day
from buildeye.simulator.app import create_app
from buildeye.simulator.faults import bad_gateway
from buildeye.simulator.server import running, serving
from tests.cli.program import build_eye
from tests.pipeline.places import LIMIT, Place, environment

TOKEN = "ghp_" + "c" * 36


@pytest.fixture(scope="module")
def past() -> Past:
    return build_busy_day(3, datetime.now(UTC), 6)


@pytest.fixture(scope="module")
def address(past: Past) -> Iterator[str]:
    with running(past, token=TOKEN) as url:
        yield url


@pytest.fixture
def place(tmp_path: Path, address: str, past: Past) -> Place:
    return Place.made(tmp_path / "place", address, past.full_name, 24)


def test_a_sync_says_in_one_line_what_it_brought_and_the_next_that_there_was_nothing(place: Place, past: Past) -> None:
    first, second = (place.run("sync", GITHUB_TOKEN=TOKEN) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    runs = len({run.id for run in past.attempts})
    assert first.stdout.startswith(f"{past.full_name}: {runs} runs new or changed, ")
    assert f"{past.full_name}: 0 runs new or changed, 0 jobs, 0 pull requests, 0 commits of main, 0 logs · " \
        "3 API requests, 3 of them not modified" in second.stdout  # fmt: skip


def test_a_backfill_tells_of_each_day_and_asks_for_none_twice(place: Place, past: Past) -> None:
    since = f"{past.now - timedelta(days=3):%Y-%m-%d}"
    first = place.run("backfill", "--since", since, GITHUB_TOKEN=TOKEN)
    assert first.returncode == 0, first.stderr
    told = [line for line in first.stderr.splitlines() if line.startswith("2")]
    assert len(told) == 4
    assert "days: 4 of 4" in first.stderr
    again = place.run("backfill", "--since", since, "--until", since, GITHUB_TOKEN=TOKEN)
    assert "1 days, 1 of them here before: 0 runs new or changed" in again.stdout, again.stderr


def test_a_backfill_that_could_not_bring_all_says_so_and_ends_with_3(tmp_path: Path, past: Past) -> None:
    whole = create_app(past)

    async def without_jobs(scope: Scope, receive: Receive, send: Send) -> None:
        broken = scope["type"] == "http" and scope["path"].endswith("/jobs")
        await (Response(status_code=502) if broken else whole)(scope, receive, send)

    with serving(without_jobs) as url:
        place = Place.made(tmp_path / "place", url, past.full_name, 24)
        since = f"{past.now - timedelta(days=2):%Y-%m-%d}"
        done = place.run("backfill", "--since", since, BUILD_EYE_API__MAX_RETRIES="0")
    assert done.returncode == 3
    assert "days are not whole, see the warnings; give the same command again" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--since", "yesterday"), '--since is "yesterday"; write a date such as 2026-11-01'),
        (("--since", "2026-13-01"), "write a date such as"),
        (("--since", "2999-01-01"), "is later than now"),
        (("--since", "2026-01-02", "--until", "2026-01-01"), "is later than 2026-01-01"),
        (("--since", "2001-01-01"), "raise storage.retention_days"),
    ],
)
def test_dates_that_cannot_be_are_refused_before_anything_is_asked(arguments: tuple[str, ...], said: str) -> None:
    answer = build_eye("backfill", *arguments)
    assert answer.code == 2
    assert said in answer.err


def test_the_token_is_in_no_output_file_or_process_argument(tmp_path: Path, past: Past) -> None:
    """A pass that meets faults and refusals, with all that it writes; while it runs, its arguments are looked at."""
    faults = Faults(share=0.2, kinds=(bad_gateway(),), seed=4, denied=frozenset({"pulls"}))
    with running(past, token=TOKEN, faults=faults) as url:
        place = Place.made(tmp_path / "place", url, past.full_name, 24)
        with subprocess.Popen(
            place.command("monitor", "--config", "config.yaml"), cwd=place.folder, stdout=subprocess.PIPE,
            env=environment(GITHUB_TOKEN=TOKEN, BUILD_EYE_LOGGING__LEVEL="debug", ARCHIVE_TOKEN="ghp_" + "d" * 36),
            stderr=subprocess.STDOUT, text=True,
        ) as child:  # fmt: skip
            arguments = Path(f"/proc/{child.pid}/cmdline").read_bytes() if Path("/proc").exists() else b""
            out, _ = child.communicate(timeout=LIMIT)
    assert "warning" in out
    assert TOKEN not in out
    assert TOKEN.encode() not in arguments
    held = [path for path in place.folder.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert held == []


def test_an_app_key_that_cannot_be_read_is_wrong_configuration(place: Place) -> None:
    settings = json.loads((place.folder / "config.yaml").read_text())
    settings["github_app"] = {"app_id": 7, "installation_id": 42, "key_file": "none.pem"}
    (place.folder / "config.yaml").write_text(json.dumps(settings))
    done = place.run("sync")
    assert done.returncode == 2
    assert done.stderr.startswith("build-eye: github_app.key_file none.pem cannot be read")


def test_half_an_app_is_told_with_what_belongs_to_it(place: Place) -> None:
    done = place.run("sync", BUILD_EYE_GITHUB_APP__APP_ID="7")
    assert done.returncode == 2
    assert "app_id, installation_id and key_file, all three or none" in done.stderr
