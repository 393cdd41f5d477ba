"""`build-eye tests`, `flaky` and `quarantine`: from JUnit reports that were ingested to tables, JSON and CSV."""

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from buildeye.cli.testcases import percent
from buildeye.warehouse import open_warehouse
from tests.cli.program import Answer, build_eye
from tests.insight.junitxml import Told, ci_job, ci_run, ingest, report
from tests.warehouse.facts import NOON, REPOSITORY

FILE = "tests/test_cache.py"
EVICTS = "tests/test_cache.py::TestCache::test_evicts_the_oldest"
SHUTS = "tests/test_server.py::test_shuts_down"
COMMITS = 40
FLAKY = (3, 9, 10, 21, 30)
"""Commits, the oldest 0, at which `test_evicts_the_oldest` failed and a second attempt passed."""


def minutes_ago(hours: float) -> float:
    """Minutes after the noon of the facts: so many hours before now."""
    return (datetime.now(UTC) - NOON) / timedelta(minutes=1) - 60 * hours


def fill(place: Path, work: Path) -> None:
    """Forty commits an hour or so apart, and two jobs at each that read their reports."""
    with open_warehouse(f"chdb://{place}") as warehouse:
        runs, jobs = [], []
        for n in range(COMMITS):
            began = minutes_ago(1.5 * (COMMITS - n))
            run = ci_run(9000 + n, f"{n:02x}" * 20, minutes=began, actor=("ada", "grace", "linus")[n % 3], pulls=(n,))
            runs.append(replace(run, html_url=f"https://github.example/octo/widgets/actions/runs/{run.id}"))
            linux, again, windows = 100_000 + n, 200_000 + n, 300_000 + n
            jobs.append(ci_job(linux, run, "unit (linux)", failed=n in FLAKY or n > 36, minutes=began))
            jobs.append(ci_job(windows, run, "unit (windows)", minutes=began))
            evicts = Told(
                "test_evicts_the_oldest", "fail" if n in FLAKY else "pass", FILE, "tests.test_cache.TestCache"
            )
            others = [
                Told("test_shuts_down", "flaky" if n == 4 else "pass", "tests/test_server.py", "tests.test_server"),
                Told("test_starts", "other" if n > 36 else "pass", "tests/test_server.py", "tests.test_server", 1.25),
                Told("test_needs_an_npu", "skip", FILE, "tests.test_cache"),
            ]
            ingest(warehouse, work, run.id, linux, evicts, *others, minutes=began + 12)
            ingest(warehouse, work, run.id, windows, replace(evicts, outcome="pass"), minutes=began + 12)
            if n in FLAKY:
                jobs.append(ci_job(again, run, "unit (linux)", minutes=began + 20))
                ingest(warehouse, work, run.id, again, replace(evicts, outcome="pass"), *others, minutes=began + 32)
        warehouse.write_runs(runs)
        warehouse.write_jobs(jobs)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tests") / "warehouse"
    fill(place, tmp_path_factory.mktemp("reports"))
    return place


@pytest.fixture
def here(filled: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", f"chdb://{filled}")
    (folder / "CODEOWNERS").write_text("* @octo/all\n/tests/test_cache.py @octo/cache @ada\n")
    return folder


def asked(*arguments: str, code: int = 0, err: str = "") -> str:
    answer = build_eye(*arguments, "--target-repo", REPOSITORY)
    assert (answer.code, answer.err) == (code, err)
    lines = [] if "-o" in arguments else answer.out.splitlines()
    assert [each for each in lines if len(each) > 100 and not each.startswith("build-eye ") and "://" not in each] == []
    return answer.out


def rows(*arguments: str, code: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(asked(*arguments, "-o", "json", code=code))
    return found


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("named", [("tests",), ("tests", "file")])
def test_a_file_is_asked_for_with_or_without_the_word(named: tuple[str, ...]) -> None:
    out = asked(*named, FILE)
    assert "2 tests, 130 runs: 80 passed, 5 failed, 45 skipped, pass rate 94.1%" in out.splitlines()[1]
    (evicts,) = [line for line in out.splitlines() if "test_evicts" in line]
    assert evicts.split() == ["TestCache::test_evicts_the_oldest", "85", "80", "5", "0", "0", "94.1%", "0.50"]
    assert asked(*named, "--since", "7d", FILE) == out


@pytest.mark.usefixtures("here")
def test_the_forms_of_a_files_tests_agree() -> None:
    (evicts, skipped) = rows("tests", FILE)
    assert (evicts["id"], evicts["runs"], evicts["pass_rate"], evicts["quarantine"]) == (EVICTS, 85, 0.9412, None)
    assert (skipped["pass_rate"], skipped["seconds"], skipped["last_failed"]) == (None, None, None)
    assert yaml.safe_load(asked("tests", FILE, "-o", "yaml")) == [evicts, skipped]
    (first, _) = csv.DictReader(io.StringIO(asked("tests", FILE, "-o", "csv")))
    assert (first["id"], first["successful"], first["fails"]) == (EVICTS, "80", "5")
    assert build_eye("tests", FILE, "-o", "wide", "--target-repo", REPOSITORY).out.splitlines()[0].split()[:2] == [
        "id",
        "runs",
    ]


@pytest.mark.usefixtures("here")
def test_a_limit_says_that_it_cut() -> None:
    out = asked("tests", FILE, "--limit", "1", err="build-eye: warning: 1 more tests are left out by --limit\n")
    assert "2 tests" in out and "test_needs_an_npu" not in out


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tests", "test_cache.py"), f"no test of test_cache.py in {REPOSITORY} since .*; did you mean {FILE}?\n"),
        (("tests", "nothing.py"), "look at an earlier --since, or ingest its reports\n"),
        (("tests", "history", "tests/test_x.py::test_starts"), "did you mean tests/test_server.py::test_starts?\n"),
        (("tests", "history", "nothing"), "no run of nothing in"),
    ],
)  # fmt: skip
def test_what_has_no_runs_is_one_sentence_with_the_nearest_names(arguments: tuple[str, ...], said: str) -> None:
    answer = build_eye(*arguments, "--target-repo", REPOSITORY)
    first, _, last = said.partition(" since .*")
    assert (answer.code, answer.out, answer.err.count("\n")) == (1, "", 1)
    assert first in answer.err and last in answer.err


@pytest.mark.usefixtures("here")
def test_the_page_of_a_test_tells_all_that_is_known_of_it() -> None:
    out = asked("tests", "history", EVICTS)
    for told in (
        "85 runs: 80 passed, 5 failed", "flaky: at 5 of 40 commits, score 0.055; clean at 9 since, 20 needed",
        "@octo/cache @ada", "quarantine    no", "https://example.test/jobs/", "1e1e1e1 on main", "assert 1 == 2",
        "CI / unit (linux)", "CI / unit (windows)",
    ):  # fmt: skip
        assert told in out, told
    assert asked("tests", "history", "test_evicts_the_oldest") == out


@pytest.mark.usefixtures("here")
def test_the_history_as_json_yaml_and_csv() -> None:
    (found,) = rows("tests", "history", EVICTS)
    assert (found["state"], found["flakiness"]["flaky_commits"], found["owners"]) == (
        "flaky",
        5,
        ["@octo/cache", "@ada"],
    )
    assert (found["last_failure"]["run_id"], found["last_failure"]["head_sha"]) == (9030, "1e" * 20)
    assert sum(day["fails"] for day in found["days"]) == sum(job["fails"] for job in found["jobs"]) == 5
    assert [(each["text"], each["fails"]) for each in found["messages"]] == [("assert 1 == 2", 5)]
    assert yaml.safe_load(asked("tests", "history", EVICTS, "-o", "yaml"))[0]["id"] == EVICTS
    days = list(csv.DictReader(io.StringIO(asked("tests", "history", EVICTS, "-o", "csv"))))
    assert sum(int(day["runs"]) for day in days) == 85


@pytest.mark.usefixtures("here")
def test_flaky_tests_are_told_with_what_they_cost_and_what_to_do() -> None:
    out = asked("flaky")
    assert out.splitlines()[:2] == [" score  test", f" 0.055  {EVICTS}"]
    assert "5 of 40" in out and "@octo/cache" in out and "test_starts" not in out
    told = [line for line in out.splitlines() if line.startswith("build-eye quarantine add")]
    assert len(told) == 1 and EVICTS in told[0]
    evicts, shuts = rows("flaky")
    assert (evicts["id"], evicts["runs"], evicts["minutes"], evicts["people"]) == (EVICTS, 5, 60.0, ["ada", "grace"])
    assert evicts["pull_requests"] == list(FLAKY)
    assert (shuts["id"], shuts["state"], shuts["flaky_commits"], shuts["minutes"]) == (SHUTS, "recovered", 1, 0.0)
    assert shuts["owners"] == ["@octo/all"] and evicts["score"] > shuts["score"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("name", "parameters", "count"),
    [
        ("test_file_week", {"file": FILE, "module": ""}, 2),
        ("test_files_like", {"base": "test_"}, 2),
        ("test_cases_named", {"names": '["test_starts"]', "file": "", "module": ""}, 1),
        ("test_commits", {"files": "[]", "names": "[]"}, 2),
        ("test_messages", {"file": FILE, "classname": "tests.test_cache.TestCache",
                           "case": "test_evicts_the_oldest", "limit": "5"}, 1),
    ],
)  # fmt: skip
def test_the_saved_queries_can_be_asked_by_themselves(name: str, parameters: dict[str, str], count: int) -> None:
    given = [word for key, value in parameters.items() for word in ("--param", f"{key}={value}")]
    assert len(rows("query", name, *given)) == count


@pytest.mark.usefixtures("here")
def test_a_window_without_flaky_tests_is_said_to_have_none() -> None:
    assert "no test passed and failed at the same commit since" in asked("flaky", "--since", "2h")
    assert rows("flaky", "--since", "2h") == []
    err = "build-eye: warning: 1 more tests are left out by --limit\n"
    assert asked("flaky", "--limit", "1", err=err).count("tests/test_server") == 0


def test_a_test_in_quarantine_is_shown_as_that_everywhere(here: Path) -> None:
    done = build_eye("quarantine", "add", EVICTS, "--why", "races with the clock, #12", "--until", "30d")
    until = (datetime.now(UTC) + timedelta(days=30)).date()
    assert (done.code, done.out) == (0, f"config/quarantine.yaml: {EVICTS} is in quarantine until {until}\n")
    assert "test_evicts_the_oldest (Q)" in asked("tests", FILE)
    assert f"until {until}: races with the clock, #12" in asked("tests", "history", EVICTS)
    flaky = asked("flaky")
    assert f"until {until}" in flaky and "quarantine add" not in flaky
    assert rows("flaky")[0]["quarantine"] == f"until {until}"
    assert EVICTS in (here / "config" / "quarantine.yaml").read_text()


@pytest.mark.usefixtures("here")
def test_entries_are_listed_checked_and_removed() -> None:
    assert (
        asked("quarantine", "list")
        == asked("quarantine", "check")
        == "config/quarantine.yaml: no test is in quarantine\n"
    )
    for id in (EVICTS, SHUTS, "tests/test_gone.py::test_gone"):
        assert build_eye("quarantine", "add", id, "--why", "known", "--until", "4w").code == 0
    assert [row["id"] for row in rows("quarantine", "list")] == [EVICTS, "tests/test_gone.py::test_gone", SHUTS]
    told = {row["id"]: row["standing"] for row in rows("quarantine", "check", code=1)}
    assert told == {EVICTS: "holds", "tests/test_gone.py::test_gone": "gone", SHUTS: "recovered"}
    assert "it has recovered: remove it" in " ".join(asked("quarantine", "check", code=1).split())
    assert build_eye("quarantine", "remove", SHUTS).code == 0
    assert "holds" in asked("quarantine", "check") and SHUTS not in asked("quarantine", "list")


def test_an_entry_whose_last_day_is_over_is_due(here: Path) -> None:
    entry = {
        "id": EVICTS,
        "why": "old",
        "since": datetime(2020, 1, 1, tzinfo=UTC).date(),
        "until": datetime(2020, 2, 1, tzinfo=UTC).date(),
    }
    (here / "config").mkdir()
    (here / "config" / "quarantine.yaml").write_text(yaml.safe_dump({"tests": [entry]}))
    assert rows("quarantine", "check", code=1)[0]["standing"] == "expired"
    assert "(over)" in asked("quarantine", "list") and rows("quarantine", "list")[0]["expired"] is True
    assert "expired 2020-02-01" in asked("flaky")


def refused(*arguments: str) -> Answer:
    answer = build_eye(*arguments)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    return answer


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tests", FILE, "--since", "soon"), '--since is "soon"'),
        (("tests", FILE, "--since", "0d"), "give a time before now"),
        (("flaky", "--since", "2199-01-01"), "give a time before now"),
        (("flaky", "--codeowners", "none"), "none cannot be read"),
        (("quarantine", "add", "a", "--why", "b", "--until", "soon"), '--until is "soon"'),
        (("quarantine", "add", "a", "--why", "b", "--until", "2020-01-01"), "is over already"),
        (("quarantine", "add", "a", "--why", " ", "--until", "1d"), "say which test and why"),
        (("quarantine", "remove", "a"), "a is not in quarantine"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(*arguments).err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "arguments", [("tests",), ("tests", FILE, "more"), ("tests", FILE, "--limit", "0"), ("tests", "history")]
)
def test_wrong_options_are_refused(arguments: tuple[str, ...]) -> None:
    assert build_eye(*arguments).code == 2


def test_a_broken_list_is_told_with_its_line(here: Path) -> None:
    (here / "config").mkdir()
    (here / "config" / "quarantine.yaml").write_text("tests:\n- id: a\n")
    for arguments in (("tests", FILE), ("flaky",), ("quarantine", "list"), ("quarantine", "check")):
        assert "quarantine.yaml line 2" in refused(*arguments).err


@pytest.mark.usefixtures("here")
def test_several_tests_of_one_name_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", f"chdb://{folder / 'other'}")
    (folder / "r.xml").write_text(report(Told("a"), Told("a", file="tests/test_b.py", classname="tests.test_b")))
    assert build_eye("ingest", "junit", "r.xml", "--run", "1", "--target-repo", REPOSITORY).code == 0
    answer = refused("tests", "history", "a", "--target-repo", REPOSITORY)
    assert "a may be tests/test_a.py::TestB::a or tests/test_b.py::a; give more of its id" in answer.err


@pytest.mark.parametrize(
    ("rate", "shown"), [(None, "-"), (1.0, "100.0%"), (0.99999, "99.9%"), (0.5, "50.0%"), (0.0, "0.0%")]
)
def test_only_a_whole_share_is_a_hundred_percent(rate: float | None, shown: str) -> None:
    assert percent(rate) == shown
