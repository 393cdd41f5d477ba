"""`build-eye verdict`: a person's word over our own judgement, both shown; what is refused says what there is."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from buildeye.cli.terminal import Look, cells
from buildeye.cli.verdictface import show_run
from buildeye.github.runaddress import RunAddress, run_address
from buildeye.model import Cause, Culprit, Determinism, MergeRange, Reason, UsageError
from buildeye.pipeline.verdicts import verdicts_of
from buildeye.warehouse import Warehouse, open_warehouse
from tests.cli.program import Answer, build_eye
from tests.warehouse.facts import REPOSITORY, a_change, a_job, a_run, a_verdict

LONG = "e2e / singlecard (v0.20.2, a leg of a matrix whose name goes on for longer than any line that shows it)"
TOKEN = "ghp_" + "c" * 36

OURS = replace(
    a_verdict(),
    determinism=Determinism.DETERMINISTIC,
    reasons=(
        Reason("step", "step", "Run unit tests", "this step failed"),
        Reason("rule", "pytest.failed", "E   assert 1 == 2", "an assertion does not hold", 812, 1.5),
        Reason("history", "others-fail-alike", "#9", "another pull request fails alike", None, -1.1),
    ),
    otherwise=((Cause.INTERFERENCE, 0.07),),
)
TRUNK = replace(
    OURS,
    job_id=1003,
    cause=Cause.INTERFERENCE,
    category="broken-trunk",
    signature="another",
    reasons=(Reason("history", "own-files", "a.py", "this change touches a file that it names", weight=-1.0),),
    merge_range=MergeRange("d" * 40, "e" * 40, 3),
    culprits=(Culprit("e" * 40, 0.72, "it changes spec.py", 9771),),
    related_pull_requests=(9816, 9820),
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with two runs: one with four failed jobs that were judged, one of which none was."""
    place = tmp_path_factory.mktemp("filled") / "warehouse"
    with open_warehouse(f"chdb://{place}") as opened:
        _fill(opened)
    return place


@pytest.fixture(autouse=True)
def warehouse(folder: Path, filled: Path) -> None:
    """The settings of a place that has a copy of the filled warehouse."""
    shutil.copytree(filled, folder / "warehouse", symlinks=True)
    owner, _, name = REPOSITORY.partition("/")
    dsn = f"chdb://{folder / 'warehouse'}"
    settings = {"target_repository": {"owner": owner, "repo": name}, "storage": {"warehouse_dsn": dsn}}
    (folder / "config").mkdir()
    (folder / "config" / "config.yaml").write_text(json.dumps(settings))


def _fill(warehouse: Warehouse) -> None:
    warehouse.write_runs([a_run(100), a_run(101)])
    names = {1000: "unit (3.12)", 1001: "unit (3.11)", 1002: "unit (3.13)", 1003: LONG}
    warehouse.write_jobs([a_job(number, name=name) for number, name in names.items()])
    warehouse.write_jobs([a_job(1100, run=101, name="build"), a_job(1101, run=101, name="build")])
    warehouse.write_verdicts([*(replace(OURS, job_id=number) for number in (1000, 1001, 1002)), TRUNK], REPOSITORY)
    warehouse.write_verdict_changes([a_change()])


def say(*arguments: str, run: str = "100", why: str = "node 7 was full", by: str = "octocat") -> Answer:
    return build_eye("verdict", "set", run, "--why", why, "--by", by, *arguments)


def shown(*arguments: str) -> dict[int, dict[str, object]]:
    """The verdicts on the jobs of run 100, by job."""
    answer = build_eye("verdict", "show", "100", "-o", "json", *arguments)
    assert answer.code == 0, answer.err
    return {job["job_id"]: job for job in json.loads(answer.out)["jobs"]}


def causes(which: str = "verdict") -> dict[int, str]:
    return {number: job[which]["cause"] for number, job in shown().items()}  # type: ignore[index]  # JSON


CODE = dict.fromkeys((1000, 1001, 1002), "code") | {1003: "interference"}


def test_our_own_judgement_shows_what_was_weighed_for_and_against_it() -> None:
    answer = build_eye("verdict", "show", "100")
    assert answer.code == 0
    for line in (
        "code / test-failure · deterministic · 90 % sure (high)",
        "For      +1.5  an assertion does not hold: E assert 1 == 2 (line 812, pytest.failed)",
        "Against  -1.1  another pull request fails alike: #9 (others-fail-alike)",
        "Facts    this step failed: Run unit tests (step)",
        "Else     interference 7 %",
        "Judged   2026-11-30 12:41 UTC by rule set rules-1",
        "Changed  2026-11-30 12:45 UTC: unknown 20 % → code / test-failure 90 %, the base branch passes",
        "Alike    unit (3.11), unit (3.13)",
        "Against  -1.0  this change touches a file that it names: a.py (own-files)",
        "Range    after dddddddddd (passed) up to eeeeeeeeee (failed), 3 commits",
        "Culprits 72 % #9771 eeeeeeeeee: it changes spec.py",
        "Hit too  #9816, #9820",
    ):
        assert line in answer.out.splitlines(), answer.out


def test_a_persons_verdict_is_shown_above_ours_which_stays() -> None:
    before = shown()
    answer = say("--cause", "infrastructure", "--category", "disk-full")
    assert (answer.code, answer.out.splitlines()[0]) == (
        0, "octo/widgets run 100: infrastructure / disk-full, says octocat"
    )  # fmt: skip
    assert "code / test-failure (3 jobs), interference / broken-trunk (1 job)" in answer.out
    assert causes() == dict.fromkeys(CODE, "infrastructure")
    assert [job["ours"] for job in shown().values()] == [job["ours"] for job in before.values()]
    lines = build_eye("verdict", "show", "100").out.splitlines()
    first = lines.index("infrastructure / disk-full · says octocat")
    assert lines[first + 1].startswith("Said     node 7 was full (octocat, 20")
    assert lines[first + 3] == "Build-Eye judged: code / test-failure · deterministic · 90 % sure (high)"


@pytest.mark.parametrize("job", ["unit (3.11)", "1001"])
def test_a_word_about_one_job_is_about_that_job(job: str) -> None:
    say("--cause", "infrastructure")
    answer = say("--cause", "configuration", "--job", job)
    assert 'run 100, job "unit (3.11)": configuration / workflow (no --category given), says octocat' in answer.out
    assert causes() == dict.fromkeys(CODE, "infrastructure") | {1001: "configuration"}
    taken = build_eye("verdict", "clear", "100", "--job", job)
    assert taken.out.endswith("is taken back; what octocat said of the run counts\n")
    assert causes() == dict.fromkeys(CODE, "infrastructure")


def test_the_address_of_a_jobs_page_is_that_job() -> None:
    address = "https://github.com/octo/widgets/actions/runs/100/job/1001?pr=7"
    say("--cause", "none", run=address)
    assert causes() == CODE | {1001: "none"}
    assert "unit (3.12)" not in build_eye("verdict", "show", address).out


def test_a_word_about_another_job_says_nothing_of_this_one() -> None:
    say("--cause", "none", "--job", "1100", run="101")
    answer = build_eye("verdict", "show", "101", "--job", "1101")
    assert (answer.code, "octocat" in answer.out) == (1, False)


def test_the_later_word_wins_and_taking_back_leaves_ours() -> None:
    for cause in ("infrastructure", "unknown", "cancelled"):
        assert say("--cause", cause).code == 0
    assert set(causes().values()) == {"cancelled"}
    assert "our own judgement counts again" in build_eye("verdict", "clear", "100").out
    assert causes() == CODE
    again = build_eye("verdict", "clear", "100")
    assert (again.code, "nothing to take back" in again.out) == (0, True)
    say("--cause", "infrastructure")
    assert set(causes().values()) == {"infrastructure"}


def test_a_category_that_was_left_out_is_ours_where_it_belongs() -> None:
    say("--cause", "code")
    categories = {number: job["verdict"]["category"] for number, job in shown().items()}  # type: ignore[index]  # JSON
    assert set(categories.values()) == {"test-failure"}


def test_a_run_of_which_nothing_was_judged_ends_with_1() -> None:
    answer = build_eye("verdict", "show", "101")
    assert answer.code == 1
    assert "No failed job of it was judged" in answer.out
    assert json.loads(build_eye("verdict", "show", "101", "-o", "json").out)["jobs"] == []


def test_what_a_person_said_before_anything_was_judged_is_known() -> None:
    assert "it counts as soon as one is" in say("--cause", "cancelled", run="101").out
    answer = build_eye("verdict", "show", "101")
    assert (answer.code, "cancelled: node 7 was full (octocat, 20" in answer.out) == (0, True)


def test_the_list_puts_what_people_said_beside_ours() -> None:
    assert "nobody said anything since" in build_eye("verdict", "list").out
    say("--cause", "infrastructure")
    say("--cause", "code", "--job", "1001", why="my typo", by="alice")
    answer = build_eye("verdict", "list", "--since", "1d")
    head, *rows = answer.out.splitlines()
    assert head.split() == ["run", "job", "verdict", "ours", "who,", "when", "(UTC)", "why"]
    assert "code / test-failure" in answer.out and "my typo" in answer.out
    assert all(cells(line) <= 100 for line in rows)
    one, two = json.loads(build_eye("verdict", "list", "-o", "json").out)
    assert [(each["person"], len(each["jobs"])) for each in (one, two)] == [("octocat", 3), ("alice", 1)]


@pytest.mark.parametrize("since", ["1h", " 2W ", "9999w", "0001-01-01"])
def test_a_time_may_be_as_long_ago_as_one_likes(since: str) -> None:
    say("--cause", "infrastructure")
    assert "octocat" in build_eye("verdict", "list", "--since", since).out


def test_the_history_tells_how_our_judgement_changed() -> None:
    answer = build_eye("verdict", "history", "100")
    assert "2026-11-30 12:45  unit (3.12)  unknown 20 %  code / test-failure" in answer.out
    [change] = json.loads(build_eye("verdict", "history", "100", "-o", "json").out)
    assert (change["name"], change["cause_before"], change["reasons"]) == ("unit (3.12)", "unknown", ["base"])
    assert "our judgement has not changed" in build_eye("verdict", "history", "101").out


SET = ("set", "100", "--why", "x", "--cause")
REFUSED = {
    "a run nobody knows": (("show", "404"), "bring it with `build-eye sync --target-repo octo/widgets`"),
    "a run of another repository": (("show", "https://github.com/a/b/actions/runs/100"), "run 100 of a/b"),
    "no run at all": (("show", "main"), 'RUN is "main"; give the number of a run, or the address'),
    "a cause cut short": ((*SET, "infra"), "did you mean infrastructure?"),
    "a cause misspelt": ((*SET, "cofiguration"), "did you mean configuration?"),
    "a cause that is none": ((*SET, "gremlins"), "causes are code, configuration"),
    "a category misspelt": ((*SET, "code", "--category", "test-failur"), "did you mean test-failure?"),
    "a category that is none": ((*SET, "cancelled", "--category", "zzz"), "are superseded, by-user"),
    "a category of no cause": ((*SET, "code", "--category", "unknown"), "does not go with --cause code"),
    "unknown, but sure": ((*SET, "unknown", "--category", "lint"), "does not go with --cause unknown"),
    "an empty why": (("set", "100", "--cause", "code", "--why", " \n"), "--why is empty"),
    "no why": (("set", "100", "--cause", "code"), "Missing option '--why'"),
    "an empty job": ((*SET, "code", "--job", ""), "--job is empty"),
    "a job misspelt": ((*SET, "code", "--job", "unit 3.12"), "did you mean unit (3.12)?"),
    "two jobs of one name": (("set", "101", "--cause", "code", "--why", "x", "--job", "build"), "of one: 1100, 1101"),
    "a time that is none": (("list", "--since", "lately"), "write 12h, 7d, 4w or a date"),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_wrong_use_ends_with_2_and_says_what_there_is(arguments: tuple[str, ...], said: str) -> None:
    answer = build_eye("verdict", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_what_was_refused_is_not_kept() -> None:
    for arguments, _ in REFUSED.values():
        if arguments[0] == "set":
            build_eye("verdict", *arguments)
    assert json.loads(build_eye("verdict", "list", "-o", "json").out) == []


def test_causes_and_categories_are_understood_as_people_write_them() -> None:
    assert say("--cause", "Infrastructure", "--category", "Disk_Full").code == 0
    assert set(causes().values()) == {"infrastructure"}


def test_a_secret_in_a_persons_words_is_kept_nowhere() -> None:
    say("--cause", "code", why=f"the token\n{TOKEN} \x1b[31mwas old")
    [said] = json.loads(build_eye("verdict", "list", "-o", "json").out)
    assert TOKEN not in said["why"] and "\x1b" not in said["why"] and said["why"].startswith("the token ghp_***")


def test_who_says_so_is_the_actor_of_the_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTOR", "octocat")
    build_eye("verdict", "set", "100", "--cause", "code", "--why", "x")
    assert json.loads(build_eye("verdict", "list", "-o", "json").out)[0]["person"] == "octocat"


def test_who_says_so_is_else_who_commits_here(folder: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "config", "user.name", "Ada Example"], cwd=folder, check=True)
    build_eye("verdict", "set", "100", "--cause", "code", "--why", "x")
    assert json.loads(build_eye("verdict", "list", "-o", "json").out)[0]["person"] == "Ada Example"


def test_who_says_so_is_else_who_is_logged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("LOGNAME", "ada")
    build_eye("verdict", "set", "100", "--cause", "code", "--why", "x")
    assert json.loads(build_eye("verdict", "list", "-o", "json").out)[0]["person"] == "ada"


def test_no_line_is_wider_than_the_terminal_or_100_cells(folder: Path) -> None:
    say("--cause", "infrastructure", why="a long story " * 20)
    with open_warehouse(f"chdb://{folder / 'warehouse'}") as opened:
        run = verdicts_of(opened, REPOSITORY, 100)
    assert run is not None
    for width in (40, 72, 100, 200):
        plain = show_run(run, run.jobs, Look(width))
        assert [line for line in plain.splitlines() if cells(line) > min(width, 100)] == []
        assert re.sub(r"\x1b\[[\d;]+m", "", show_run(run, run.jobs, Look(width, color=True))) == plain
    assert "\x1b[" in show_run(run, run.jobs, Look(color=True))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("26690112009", RunAddress(26690112009)),
        (" 7 ", RunAddress(7)),
        ("https://github.com/o/r/actions/runs/7", RunAddress(7, None, "o/r")),
        ("https://github.com/o/r/actions/runs/7/", RunAddress(7, None, "o/r")),
        ("https://github.com/o/r/actions/runs/7/attempts/2", RunAddress(7, None, "o/r")),
        ("https://github.com/o/r/actions/runs/7/job/8", RunAddress(7, 8, "o/r")),
        ("https://github.com/o/r/actions/runs/7/job/8?pr=3#step:4:5", RunAddress(7, 8, "o/r")),
        ("https://git.example/o/r/actions/runs/7", RunAddress(7, None, "o/r")),
    ],
)
def test_a_run_is_a_number_or_an_address(text: str, meant: RunAddress) -> None:
    assert run_address(text) == meant


@pytest.mark.parametrize("text", ["", "-1", "1e3", "٣", "9" * 19, "https://github.com/o/r/pull/7", "runs/7"])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="give the number of a run"):
        run_address(text)
