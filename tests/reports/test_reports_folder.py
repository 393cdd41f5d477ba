"""The reports folder: where a report lies, and that passes add to it, whatever happens between them."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path, PurePosixPath

import pytest

from buildeye.model import Cause, Finding, JobFinding, OutsideError
from buildeye.reports import report_path, summary_table, write_reports
from buildeye.reports.store import Told, decode, encode, merge

Make = Callable[..., Finding]
MakeJob = Callable[..., JobFinding]


def visible_files(folder: Path) -> list[str]:
    """The reports in a folder, without what is kept for the next pass."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("[!.]*.md"))


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"pr": 9829}, "2026/05/28/code-pr-9829.md"),
        ({"pr": None, "run_id": 77}, "2026/05/28/code-run-77.md"),
        ({"pr": 9829, "updated_at": datetime(2026, 1, 2, 3)}, "2026/01/02/code-pr-9829.md"),
        (
            {"pr": 1, "updated_at": datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=8)))},
            "2026/01/01/code-pr-1.md",
        ),
        ({"pr": "../../etc/passwd"}, "2026/05/28/code-pr-etc-passwd.md"),
        ({"pr": None, "run_id": "\x00/.."}, "2026/05/28/code-run-x.md"),
    ],
)
def test_a_report_lies_under_the_day_its_run_finished_in_utc(
    fields: dict[str, object], path: str, finding_of: Make, job_of: MakeJob
) -> None:
    assert report_path(finding_of(job_of(cause=Cause.CODE), **fields)) == PurePosixPath(path)


def test_a_run_without_any_time_is_kept_under_the_first_day_of_1970(finding_of: Make) -> None:
    assert str(report_path(finding_of(updated_at=None, pr=1))) == "1970/01/01/unknown-pr-1.md"


def test_the_same_findings_again_change_nothing(
    tmp_path: Path, samples: dict[str, list[Finding]], noon: datetime
) -> None:
    findings = samples["code"] + samples["unknown"]
    first = write_reports(findings, tmp_path, language="en", now=noon)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")}
    later = write_reports(findings[::-1], tmp_path, language="en", now=noon + timedelta(days=3))
    assert [str(path) for path in first.written] == visible_files(tmp_path)
    assert later.unchanged == first.written
    assert (later.written, later.updated, later.removed) == ((), (), ())
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")} == before


def test_a_later_pass_that_sees_only_newer_runs_keeps_the_older_ones(
    tmp_path: Path, samples: dict[str, list[Finding]], noon: datetime
) -> None:
    older, newer = samples["several-runs"]
    write_reports([older], tmp_path / "steps", language="en", now=noon)
    result = write_reports([newer], tmp_path / "steps", language="en", now=noon)
    write_reports([older, newer], tmp_path / "once", language="en", now=noon)
    assert [str(path) for path in result.removed] == ["2026/05/28/infrastructure-pr-9822.md"]
    assert visible_files(tmp_path / "steps") == ["2026/05/28/code-pr-9822.md"]
    for name in visible_files(tmp_path / "once"):
        assert (tmp_path / "steps" / name).read_text() == (tmp_path / "once" / name).read_text()


def test_a_report_told_for_a_run_goes_when_its_pull_request_becomes_known(
    tmp_path: Path, finding_of: Make, noon: datetime
) -> None:
    write_reports([finding_of(pr=None, run_id=5)], tmp_path, language="en", now=noon)
    write_reports([finding_of(pr=9, run_id=5)], tmp_path, language="en", now=noon)
    assert visible_files(tmp_path) == ["2026/05/28/unknown-pr-9.md"]


def test_a_stranger_beside_the_reports_is_left_alone(tmp_path: Path, finding_of: Make, noon: datetime) -> None:
    stranger = tmp_path / "2026/05/28/notes-pr-9.md"
    stranger.parent.mkdir(parents=True)
    stranger.write_text("mine")
    write_reports([finding_of(pr=9)], tmp_path, language="en", now=noon)
    assert stranger.read_text() == "mine"


def test_findings_that_cannot_be_read_are_replaced(tmp_path: Path, finding_of: Make, noon: datetime) -> None:
    write_reports([finding_of(pr=9)], tmp_path, language="en", now=noon)
    kept = tmp_path / ".findings/2026/05/28/pr-9.json"
    kept.write_text("{broken")
    write_reports([finding_of(pr=9)], tmp_path, language="en", now=noon)
    assert decode(kept.read_bytes(), "kept") is not None


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path, finding_of: Make, noon: datetime) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutsideError, match=r"reports cannot be written to .*; check its rights"):
        write_reports([finding_of(pr=9)], tmp_path / "file", language="en", now=noon)


def test_findings_come_back_from_the_store_as_they_were(samples: dict[str, list[Finding]], noon: datetime) -> None:
    for findings in samples.values():
        told = Told(tuple(findings), "zh", 50, noon)
        assert decode(encode(told), "kept") == told


def test_text_no_file_can_hold_does_not_stop_a_pass(tmp_path: Path, finding_of: Make, noon: datetime) -> None:
    result = write_reports([finding_of(pr=9, name="half \ud800 a pair")], tmp_path, language="en", now=noon)
    assert len(result.written) == 1


def test_of_two_findings_about_a_run_the_later_attempt_wins(finding_of: Make, noon: datetime) -> None:
    first, second = finding_of(run_attempt=1), finding_of(run_attempt=2, updated_at=noon + timedelta(hours=1))
    assert merge([second], [first]) == merge([first], [second]) == (second,)


KILLED = """
import os, pathlib, signal, sys
from buildeye.reports import folder, store
from buildeye.reports.paths import group
steps = int(sys.argv[2])
def dying(real):
    def step(self, *arguments, **named):
        global steps
        if steps == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        steps -= 1
        return real(self, *arguments, **named)
    return step
pathlib.Path.replace = dying(pathlib.Path.replace)
pathlib.Path.unlink = dying(pathlib.Path.unlink)
told = store.decode(pathlib.Path(sys.argv[3]).read_bytes(), "given")
folder.write_reports(told.findings, pathlib.Path(sys.argv[1]), language="en", now=told.generated_at)
"""


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_pass_killed_while_writing_is_mended_by_the_next(
    steps: int, tmp_path: Path, samples: dict[str, list[Finding]], finding_of: Make, noon: datetime
) -> None:
    older, newer = samples["several-runs"]
    reports, given = tmp_path / "reports", tmp_path / "given.json"
    write_reports([older], reports, language="en", now=noon)
    given.write_bytes(encode(Told((newer,), "en", 50, noon)))
    died = subprocess.run([sys.executable, "-c", KILLED, str(reports), str(steps), str(given)], env=os.environ)
    assert died.returncode == -signal.SIGKILL
    write_reports([newer, finding_of(pr=4)], reports, language="en", now=noon)
    assert visible_files(reports) == ["2026/05/28/code-pr-9822.md", "2026/05/28/unknown-pr-4.md"]
    text = (reports / "2026/05/28/code-pr-9822.md").read_text()
    assert re.findall("^### .*run (50.)$", text, re.MULTILINE)[:2] == ["501", "500"]
    assert not list(reports.rglob("*.tmp"))


def test_findings_without_a_report_are_told_by_the_next_pass_of_that_day(
    tmp_path: Path, finding_of: Make, noon: datetime
) -> None:
    write_reports([finding_of(pr=9)], tmp_path, language="en", now=noon)
    report = tmp_path / "2026/05/28/unknown-pr-9.md"
    whole = report.read_text()
    report.unlink()
    write_reports([finding_of(pr=4)], tmp_path, language="en", now=noon)
    assert report.read_text() == whole


def test_the_table_of_a_pass_tells_each_cause_once_and_unknown_last(samples: dict[str, list[Finding]]) -> None:
    (trunk,) = samples["interference"]
    assert trunk.pull_request is not None
    other = dataclasses.replace(trunk, pull_request=dataclasses.replace(trunk.pull_request, number=9816))
    names = ("unknown", "code", "infrastructure", "cancelled", "none")
    rows = summary_table([finding for name in names for finding in samples[name]] + [trunk, other])
    assert [(row.cause, row.runs, row.what, row.who) for row in rows] == [
        (
            Cause.INTERFERENCE, 2, "broken trunk since #9771: test_dflash_spec, 2 pull requests",
            "maintainer: revert or fix forward",
        ),
        (Cause.CODE, 1, "#9822 failing test test_topk", "authors"),
        (
            Cause.INFRASTRUCTURE, 1, "#9830 runner a3-4-07: runner lost",
            "infrastructure: drain a3-4-07",
        ),
        (Cause.UNKNOWN, 1, "Nightly-A2 no known error", "look: build-eye explain 26690112009"),
    ]  # fmt: skip


def test_the_table_names_a_few_and_counts_the_rest(finding_of: Make, job_of: MakeJob) -> None:
    job = job_of(cause=Cause.CODE, category="format")
    (row,) = summary_table([finding_of(job, pr=number, run_id=number) for number in range(1, 8)])
    assert row.what.endswith("#4 formatting differs · and 3 more")


def test_the_table_says_of_an_unknown_cause_what_failed_when_the_log_tells(finding_of: Make, job_of: MakeJob) -> None:
    job = job_of(cause=Cause.CODE, category="test-failure", confidence=0.4, told={"cause": Cause.UNKNOWN})
    (row,) = summary_table([finding_of(job)])
    assert (row.cause, row.what) == (Cause.UNKNOWN, "#9829 failing test")


def test_the_table_tells_flaky_tests_from_broken_ones(samples: dict[str, list[Finding]]) -> None:
    (row,) = summary_table(samples["flaky"])
    assert (row.what, row.who) == (
        "#9850 flaky test_stream (7 of 9 passed when tried again)", "maintainer: re-run, then steady the test"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "what", "who"),
    [
        ("interference-medium", "#9829 one version of the matrix fails (v0.20.2)",
         "maintainer: mend or exclude the leg"),
        ("upstream-change", "E2E-Full an upstream project moved (numpy 2.3.5 -> 2.4.0)", "maintainer: pin what moved"),
        ("runner-contention", "#9861 runners contended (linux-aarch64-a3-4)", "nobody: re-run when runners are free"),
        ("concurrent-merge", "E2E-Full merges close together since #9771 + #9765", "maintainer: revert or fix forward"),
        ("range", "#9831 broken trunk", "maintainer: revert or fix forward"),
    ],
)  # fmt: skip
def test_the_table_says_in_short_where_interference_came_from(
    name: str, what: str, who: str, samples: dict[str, list[Finding]]
) -> None:
    row = summary_table(samples[name])[0]
    assert (row.what, row.who) == (what, who)
