"""`build-eye query`: saved queries by name, with parameters as people type them."""

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from buildeye.ask.parameters import declared
from buildeye.warehouse import open_warehouse
from buildeye.warehouse.owner import serving
from buildeye.warehouse.store import saved_queries, saved_query
from tests.cli.program import Answer, build_eye
from tests.warehouse.facts import REPOSITORY, a_run
from tests.web.answering import TOKEN, answering

NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of one, three and nine days ago, on two branches."""
    place = tmp_path_factory.mktemp("saved") / "warehouse"
    runs = [
        replace(
            a_run(number, branch=branch, event="push"), head_sha=f"{number}" * 40, created_at=NOW - timedelta(days=days)
        )
        for number, days, branch in ((1, 1, "main"), (2, 3, "main"), (3, 9, "main"), (4, 2, "release"))
    ]
    with open_warehouse(f"chdb://{place}") as warehouse:
        warehouse.write_runs(runs)
    return place


@pytest.fixture
def here(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", f"chdb://{filled}")
    monkeypatch.setenv("TARGET_REPO_OWNER", REPOSITORY.partition("/")[0])
    monkeypatch.setenv("TARGET_REPO_NAME", REPOSITORY.partition("/")[2])


def query(*arguments: str, code: int = 0) -> Answer:
    answer = build_eye("query", *arguments)
    assert answer.code == code, answer.err
    return answer


def runs(*arguments: str) -> int:
    return sum(row["runs"] for row in json.loads(query("runs_since", *arguments, "-o", "json").out))


@pytest.mark.usefixtures("here")
def test_repository_and_time_have_usual_values() -> None:
    assert runs() == 3
    assert runs("--target-repo", "octo/none") == runs("--param", "repository=octo/none") == 0


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("since", "count"),
    [("30h", 1), ("4d", 3), ("2w", 4), (f"{NOW - timedelta(days=2, hours=1):%Y-%m-%dT%H:%M:%SZ}", 2)],
    ids=["hours", "days", "weeks", "a moment"],  # every process of a test run must give the same names
)
def test_a_time_is_typed_as_one_likes(since: str, count: int) -> None:
    assert runs("--param", f"since={since}") == count


@pytest.mark.usefixtures("here")
def test_lists_and_numbers_are_parameters_too() -> None:
    rows = list(csv.DictReader(io.StringIO(query("known_runs", "--param", "runs=1,3", "-o", "csv").out)))
    assert [row["run_id"] for row in rows] == ["1", "3"]
    branch = json.loads(query("branch_commits", "--param", "limit=2", "-o", "json").out)
    assert [row["sha"][0] for row in branch] == ["1", "2"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "which query? build-eye query --list names all"),
        (("runs_sinse",), "there is no saved query runs_sinse; did you mean runs_since"),
        (("known_runs",), "saved query known_runs also takes runs (Array(Int64)); give it with --param"),
        (
            ("runs_since", "--param", "sinc=1d"),
            "has no parameter sinc; it takes repository (String), since (DateTime64",
        ),
        (("runs_since", "--param", "since=lately"), '--param since is "lately"; write 12h, 7d'),
        (("branch_commits", "--param", "limit=-1"), "it is UInt32: give a whole number from 0 to 4294967295"),
        (("runs_since", "--param", "since"), "write NAME=VALUE"),
    ],
)
def test_what_is_missing_or_wrong_is_told_with_its_type(arguments: tuple[str, ...], said: str) -> None:
    answer = query(*arguments, code=2)
    assert said in answer.err and len(answer.err.splitlines()) == 1


@pytest.mark.usefixtures("here")
def test_a_query_without_rows_has_its_head_and_says_so() -> None:
    answer = query("runs_since", "--param", "since=1h")
    assert (answer.out.split(), answer.err) == (["status", "conclusion", "runs"], "no rows\n")


@pytest.mark.usefixtures("here")
def test_a_query_is_drawn() -> None:
    assert (
        "completed success" in query("runs_since", "-o", "graph").out or "█" in query("runs_since", "-o", "graph").out
    )


def test_all_queries_are_listed_with_who_asks_them_and_their_parameters() -> None:
    rows = json.loads(query("--list", "-o", "json").out)
    assert [row["name"] for row in rows] == list(saved_queries())
    assert all(row["asked_by"] for row in rows)
    assert max(map(len, query("--list").out.splitlines())) <= 100


@pytest.mark.parametrize("name", saved_queries())
def test_a_description_names_every_parameter_with_its_type(name: str) -> None:
    told = query(name, "--describe").out
    assert told.startswith("Asked by ") and "Parameters: " in told
    assert all(f"--param {each}=...  {kind}" in told for each, kind in declared(saved_query(name)).items())


def test_questions_go_through_the_server_that_has_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts, state = tmp_path / "facts", tmp_path / "state"
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", f"chdb://{facts}")
    monkeypatch.setenv("BUILD_EYE_STORAGE__DATA_DIR", str(state))
    with open_warehouse(f"chdb://{facts}") as warehouse:
        warehouse.write_runs([replace(a_run(1), created_at=NOW - timedelta(hours=1))])
        with (
            answering(warehouse, tmp_path / "spool") as port,
            serving(state, f"http://127.0.0.1:{port}", TOKEN, str(facts.resolve())),
        ):
            assert runs("--target-repo", REPOSITORY) == 1
            ask = ("datasources", "clickhouse", "query")
            assert build_eye(*ask, "SELECT count() AS n FROM default.workflow_run", "-o", "csv").out == "n\n1\n"
            over = build_eye(*ask, "SELECT number FROM numbers(200000)")
            assert over.code == 2 and "more than 100,000 rows (max_result_rows)" in over.err
            refused = build_eye(*ask, "INSERT INTO default.push VALUES (1)", "--no-guard")
            assert refused.code == 2 and "query refused (not-a-read)" in refused.err
