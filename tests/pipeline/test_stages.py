"""Each stage alone, with the original system's flags, chained through files."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from buildeye.model import Cause
from buildeye.simulator import Past
from tests.pipeline.conftest import STAGES, Twice
from tests.pipeline.places import Place, by_job, timeless

CAUSE = re.compile(r"/[a-z]+-(?=(?:pr|run)-)")
"""What the name of a report says of the cause."""


@pytest.fixture(scope="module")
def said(chain: Path) -> list[tuple[int, str, str]]:
    return [(code, out, err) for code, out, err in json.loads((chain.parent / "chain.json").read_text())]


def _items(chain: Path, name: str, key: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads((chain / "data" / name).read_text())[key]
    return items


@pytest.fixture(scope="module")
def classifications(chain: Path) -> list[dict[str, Any]]:
    return _items(chain, "classifications.json", "classifications")


@pytest.mark.parametrize("number", range(len(STAGES)), ids=[" ".join((s[0], *s[5:])) for s in STAGES])
def test_a_stage_ends_well_and_says_in_one_line_what_it_wrote(number: int, said: list[tuple[int, str, str]]) -> None:
    code, out, err = said[number]
    assert code == 0, err
    assert len(out.splitlines()) == 1
    assert STAGES[number][-1].rstrip("/") in out or STAGES[number][0] == "archive"


def test_classifications_keep_the_original_fields(classifications: list[dict[str, Any]]) -> None:
    original = {"workflow_run_id": int, "workflow_name": str, "pipeline_type": str, "classification": str}
    for entry in classifications:
        assert all(isinstance(entry[field], kind) for field, kind in original.items())
        assert entry["pr_number"] is None or isinstance(entry["pr_number"], int)
        assert entry["classification"] in set(Cause)
        assert entry["pipeline_type"] in {"pr", "nightly", "weekly", "other"}


def test_every_failed_job_stands_in_its_entry_with_id_and_cause(
    classifications: list[dict[str, Any]], past: Past
) -> None:
    jobs = {job.id: job for job in past.jobs}
    for entry in classifications:
        assert entry["jobs"]
        for told in entry["jobs"]:
            assert jobs[told["job_id"]].run_id == entry["workflow_run_id"]
            assert told["job_name"] == jobs[told["job_id"]].name
            assert told["cause"] in set(Cause)
            assert told["summary"]


def test_the_stages_judge_the_jobs_that_a_whole_pass_judges(
    classifications: list[dict[str, Any]], twice: Twice
) -> None:
    staged = [job["job_id"] for entry in classifications for job in entry["jobs"]]
    assert sorted(staged) == sorted(by_job(twice.place.findings()))


def test_the_stages_know_less_than_a_whole_pass_and_are_never_sure_of_something_else(
    classifications: list[dict[str, Any]], twice: Twice
) -> None:
    whole = by_job(twice.place.findings())
    staged = {job["job_id"]: job for entry in classifications for job in entry["jobs"]}
    other = {number for number, job in staged.items() if job["cause"] != whole[number]["cause"]}
    assert len(other) <= len(staged) / 4
    assert all(staged[number]["level"] != "high" for number in other)


def test_recommendations_come_cheapest_first(chain: Path) -> None:
    order = ["low", "medium", "high"]
    for entry in _items(chain, "recommendations.json", "recommendations"):
        assert entry["suggestions"]
        rest = entry["suggestions"][1 if entry["classification"] == "interference" else 0 :]
        costs = [order.index(suggestion["cost"]) for suggestion in rest]
        assert costs == sorted(costs)


def test_the_reports_of_the_stages_are_of_what_a_whole_pass_reports(chain: Path, twice: Twice) -> None:
    def reported(names: Iterable[str]) -> list[str]:
        return sorted(CAUSE.sub("/", name) for name in names)

    assert reported(Place(chain).report_texts()) == reported(twice.first.reports)


def test_a_dry_run_of_the_archive_pushes_nothing_and_the_real_one_pushes_the_reports(
    chain: Path, said: list[tuple[int, str, str]]
) -> None:
    dry, real = said[-2][1], said[-1][1]
    assert "would be" in dry
    assert "pushed" not in dry
    reports = Place(chain).report_texts()
    assert f"{len([name for name in reports if name.endswith('.md')])} written" in said[-3][1]
    assert "pushed" in real
    assert len(Place(chain).commits()) == 1
    assert Place(chain).archived() == {name: timeless(text) for name, text in reports.items()}


def test_the_collected_metadata_can_be_moved_with_its_logs(chain: Path, tmp_path: Path) -> None:
    builds = _items(chain, "build_metadata.json", "builds")
    named = [job["log_file"] for build in builds for job in build["failed_jobs"] if job["log_file"]]
    assert named
    assert not any(Path(name).is_absolute() for name in named)
    assert all((chain / "data" / name).is_file() for name in named)
