"""Passes that must not archive, and passes on days when something outside fails."""

from pathlib import Path

import pytest

from buildeye.simulator import Faults, Past
from buildeye.simulator.server import running
from tests.pipeline.places import Place

SHORT = 8
"""Hours with a failure in them, for passes that are about something else."""


def test_a_dry_run_reports_and_archives_nothing(tmp_path: Path, past: Past) -> None:
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, "somebody/else", 1)
        done = place.run("monitor", "--dry-run", "--target-repo", past.full_name, "--lookback-hours", "13")
    assert done.returncode == 0, done.stderr
    assert "nothing archived (dry run)" in done.stdout
    assert "last 13 h" in done.stdout
    assert place.report_texts()
    assert place.commits() == []


@pytest.fixture(scope="module")
def no_archive(tmp_path_factory: pytest.TempPathFactory, past: Past) -> tuple[Place, int, str, str]:
    """A pass that may not ask for pull requests and whose archive is not there."""
    with running(past, faults=Faults(denied=frozenset({"pulls"}))) as address:
        folder = tmp_path_factory.mktemp("bad") / "place"
        place = Place.made(folder, address, past.full_name, 13, archive="nowhere.git")
        done = place.run("monitor")
    return place, done.returncode, done.stdout, done.stderr


def test_an_archive_that_cannot_be_reached_is_said_last_and_ends_with_3(
    no_archive: tuple[Place, int, str, str], past: Past
) -> None:
    place, code, out, err = no_archive
    assert code == 3
    assert out.startswith(past.full_name)
    assert "not archived" in out.splitlines()[-1]
    assert err.splitlines()[-1].startswith("build-eye: ")
    assert "nowhere.git" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert place.report_texts()


def test_what_github_does_not_tell_is_a_warning(no_archive: tuple[Place, int, str, str]) -> None:
    place, _, _, err = no_archive
    (warned,) = [line for line in err.splitlines() if "pull requests are not known" in line]
    assert warned.startswith("build-eye: warning: ")
    assert place.findings()


def test_a_github_that_is_not_there_ends_with_3_and_one_sentence(tmp_path: Path, past: Past) -> None:
    with running(past) as gone:
        place = Place.made(tmp_path / "place", gone, past.full_name, 1)
    done = place.run("fetch-runs", "--output", "runs.json", BUILD_EYE_API__MAX_RETRIES="0")
    assert done.returncode == 3
    assert done.stderr.startswith("build-eye: ")
    assert "Traceback" not in done.stderr
    assert not (place.folder / "runs.json").exists()


def test_a_repository_that_does_not_exist_ends_with_a_documented_code(tmp_path: Path, past: Past) -> None:
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, "no-such/repository", 1)
        done = place.run("fetch-runs", "--output", "runs.json")
    assert done.returncode in (2, 3)
    assert "no-such/repository" in done.stderr


def test_two_passes_at_once_do_not_share_a_warehouse(tmp_path: Path, past: Past) -> None:
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, SHORT)
        with place.start("monitor") as first:
            second = place.run("monitor")
        assert first.returncode in (0, 3)
        assert second.returncode in (0, 3)
        assert 0 in (first.returncode, second.returncode)
    assert "Traceback" not in second.stderr


def test_the_demo_does_the_main_job_and_names_its_reports(tmp_path: Path) -> None:
    done = Place(tmp_path).run("demo", "--folder", "shown", config=False)
    assert done.returncode == 0, done.stderr
    assert "archive pushed" in done.stdout
    named = [line.strip() for line in done.stdout.splitlines() if line.startswith("  shown/reports/")]
    assert named
    assert all((tmp_path / name).is_file() for name in named)


def test_a_demo_where_nothing_can_be_written_ends_with_3(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    done = Place(tmp_path).run("demo", "--folder", "taken", config=False)
    assert done.returncode == 3
    assert done.stderr.startswith("build-eye: ")
    assert "Traceback" not in done.stderr
