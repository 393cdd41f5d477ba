"""Where in a log one is: steps, the one that failed, echoed scripts, the tail."""

from datetime import UTC, datetime, timedelta

import pytest

from buildeye.logs.ruleset import RuleSet, load_ruleset
from buildeye.logs.source import LogFile
from buildeye.logs.structure import Structure, read_structure
from buildeye.model import Job, Step

LOG = """\
Current runner version: '2.334.0'
Complete job name: unit (3.12)
##[group]Run actions/checkout@v4
##[endgroup]
Syncing repository
##[group]Run set -o pipefail
set -o pipefail
pytest tests
shell: /usr/bin/bash -e {0}
##[endgroup]
FAILED tests/test_a.py::test_b
##[error]Process completed with exit code 1.
##[group]Run actions/upload-artifact@v4
##[endgroup]
##[error]No files were found
Post job cleanup.
Cleaning up orphan processes
"""


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return load_ruleset()


def structure(rules: RuleSet, log: str, job: Job | None = None) -> Structure:
    found = rules.find(LogFile.of("x", log.encode()))
    return read_structure(found.lines, found.marks, job)


def test_steps_are_the_groups_that_the_runner_ran_and_an_exit_code_says_which_failed(rules: RuleSet) -> None:
    names = [(s.name, s.start, s.failed) for s in structure(rules, LOG).sections]
    assert names == [
        ("Set up job", 1, False),
        ("actions/checkout@v4", 3, False),
        ("pytest tests", 6, True),
        ("actions/upload-artifact@v4", 13, False),
    ]


def test_the_first_step_that_failed_is_the_failed_one_and_its_exit_ends_the_failure(rules: RuleSet) -> None:
    read = structure(rules, LOG)
    assert read.failed is not None
    assert read.failed.name == "pytest tests"
    assert (read.exit_line, read.end, read.post_start) == (12, 12, 16)
    assert read.job_name == "unit (3.12)"


def test_a_script_that_the_runner_echoes_is_told_from_what_it_prints(rules: RuleSet) -> None:
    read = structure(rules, LOG)
    assert [n for n in range(1, 18) if read.is_echo(n)] == [3, 4, 6, 7, 8, 9, 10, 13, 14]
    assert read.echo_of(8) == (6, 10)
    assert read.echo_of(11) is None


def test_a_log_without_groups_has_no_steps_and_ends_at_its_last_line(rules: RuleSet) -> None:
    read = structure(rules, "one\ntwo\nthree\n")
    assert (read.sections, read.failed, read.end) == ((), None, 3)


def test_a_log_that_does_not_mark_its_steps_is_cut_by_the_times_of_the_job(rules: RuleSet) -> None:
    began = datetime(2026, 5, 12, 8, 0, tzinfo=UTC)
    lines = [f"{(began + timedelta(seconds=10 * n)):%Y-%m-%dT%H:%M:%S}.0000000Z line {n}" for n in range(9)]
    steps = tuple(
        Step(name, n + 1, "completed", how, began + timedelta(seconds=30 * n), began + timedelta(seconds=30 * n + 25))
        for n, (name, how) in enumerate([("Set up", "success"), ("Test", "failure"), ("Upload", "success")])
    )
    job = Job(1, 1, "unit", "completed", "failure", steps=steps)
    read = structure(rules, "\n".join(lines) + "\n", job)
    assert [(s.name, s.start, s.end, s.failed) for s in read.sections] == [
        ("Set up", 1, 3, False),
        ("Test", 4, 6, True),
        ("Upload", 7, 9, False),
    ]
