"""The query guard: what it refuses and why, what it lets through, and what a real engine does with both."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.ask.guard import OURS, Allowed, Limits, Reason, Refused, Tables, check
from buildeye.ask.guard.callables import DENIED, is_known, known_functions
from buildeye.ask.guard.lexing import Kind, read_tokens, words
from tests.ask.hostile import CARELESS, HOSTILE
from tests.ask.legitimate import GUIDE, LEGITIMATE, PARAMETERS

_ENGINE = Path(__file__).parent / "guard_engine.py"
_SCHEMA = Path(__file__).parents[2] / "src" / "buildeye" / "warehouse" / "schema"
_PLANTED = "planted-7c1e"
_REFUSED = HOSTILE + CARELESS
_KNOWN_TO_READ, _STILL_WHEN_READONLY = 50, 40
"""How many of the hostile statements at least give the planted file away when an engine runs them unguarded."""


def _run(statements: list[str], *, readonly: bool) -> list[dict[str, Any]]:
    asked = json.dumps({"readonly": readonly, "parameters": PARAMETERS, "statements": statements})
    done = subprocess.run([sys.executable, str(_ENGINE)], input=asked, capture_output=True, text=True, check=True)
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("canary") / "secret.txt"
    path.write_text(f"{_PLANTED}\n")
    return str(path)


def _verdict(sql: str) -> Reason | None:
    try:
        check(sql)
    except Refused as refused:
        return refused.reason
    return None


@pytest.mark.parametrize(("reason", "sql"), _REFUSED, ids=range(len(_REFUSED)))
def test_hostile_and_careless_statements_are_refused_with_the_right_reason_and_a_hint(reason: Reason, sql: str) -> None:
    with pytest.raises(Refused) as refused:
        check(sql.replace("CANARY", "/canary/secret.txt"))
    assert refused.value.reason is reason
    assert refused.value.hint and refused.value.hint in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("sql", LEGITIMATE, ids=range(len(LEGITIMATE)))
def test_legitimate_statements_pass(sql: str) -> None:
    allowed = check(sql)
    assert allowed.settings["readonly"] == 1
    assert not allowed.warnings or "repository_full_name = " in allowed.warnings[0]


def test_there_are_as_many_cases_as_the_promise_says() -> None:
    assert len(set(_REFUSED)) >= 120
    assert len(set(LEGITIMATE)) >= 80
    assert {reason for reason, _ in _REFUSED} == set(Reason)


def test_the_guides_queries_pass_word_for_word() -> None:
    assert [check(sql).statement for sql in GUIDE] == list(GUIDE)
    assert [check(sql).warnings for sql in GUIDE] == [(), ()]


def test_what_the_guard_lets_through_runs_on_a_read_only_engine_under_its_limits() -> None:
    allowed = [check(sql) for sql in LEGITIMATE]
    answers = _run([each.bounded for each in allowed], readonly=False)
    failed = {each.statement: answer["error"] for each, answer in zip(allowed, answers, strict=True) if answer["error"]}
    assert failed == {}


def test_a_plain_read_only_handle_runs_the_statements_without_their_clause_too() -> None:
    answers = _run([check(sql).statement for sql in LEGITIMATE], readonly=True)
    assert [answer["error"] for answer in answers if answer["error"]] == []


def test_no_statement_that_passes_reads_a_planted_file_and_many_of_the_refused_would(canary: str) -> None:
    reading = [sql.replace("CANARY", canary) for _, sql in HOSTILE if "CANARY" in sql]
    passed = [sql for sql in reading if _verdict(sql) is None]
    assert passed == []

    def gives_away(*, readonly: bool) -> int:
        answers = _run(reading, readonly=readonly)
        return sum(_PLANTED in answer["text"] + answer["error"] for answer in answers)

    # Measured with chDB 26.9: of some 110 statements that try, half read it, and 40 still do when the engine is
    # read-only, because the scalar file() is no matter of access there. The rest fail on types or unknown names.
    assert (gives_away(readonly=False), gives_away(readonly=True)) >= (_KNOWN_TO_READ, _STILL_WHEN_READONLY)


def test_every_function_of_the_engine_is_either_listed_or_refused_and_none_that_is_listed_reads_the_file(
    canary: str,
) -> None:
    names = [
        json.loads(line)["name"]
        for line in _run(["SELECT name FROM system.functions"], readonly=True)[0]["text"].splitlines()
    ]
    assert len(names) > 1500
    shapes = (
        "{name}('{path}')",
        "{name}(file, ['{path}'])",
        "{name}(file, ['{path}'], ['{path}'])",
        "{name}(+file, ['{path}'])",
        "{name}(['{path}'], file)",
        "{name}('file', ['{path}'])",
    )
    listed = [name for name in names if is_known(name)]
    asked = ["SELECT " + shape.format(name=name, path=canary) for name in listed for shape in shapes]
    passed = [sql for sql in asked if _verdict(sql) is None]
    answers = _run(passed, readonly=True)
    gave_away = [
        sql for sql, answer in zip(passed, answers, strict=True) if _PLANTED in answer["text"] + answer["error"]
    ]
    assert gave_away == []


def test_no_function_is_both_listed_and_refused_by_name() -> None:
    assert [n for n in known_functions() if any(re.fullmatch(pattern, n) for pattern, _, _ in DENIED)] == []


@pytest.mark.parametrize("suffix", ["If", "State", "Array", "Map", "OrNull", "Merge", "IfOrNull"])
@pytest.mark.parametrize("name", ["file", "dictGet", "url", "sleep", "groupFormat", "getSetting"])
def test_an_aggregate_suffix_makes_no_refused_function_known(name: str, suffix: str) -> None:
    assert not is_known(name + suffix)


def test_our_tables_are_those_of_the_schema() -> None:
    made: dict[str, set[str]] = {}
    for path in _SCHEMA.glob("*.sql"):
        for database, table in re.findall(
            r"CREATE (?:OR REPLACE )?(?:TABLE|VIEW)(?: IF NOT EXISTS)? (\w+)\.(\w+)", path.read_text("utf-8")
        ):
            made.setdefault(database, set()).add(table)
    assert {database: set(names) for database, names in OURS.names.items()} == made


# whitespace, comments and case

_BLANKS = st.sampled_from([" ", "\n", "\t", "  \n ", "/* a comment; DROP TABLE x */", "-- one\n", "#! two\n", "\u00a0"])
_CASES = st.sampled_from(["lower", "upper", "title", "strip"])
_FLAT = words(
    "SELECT FROM WHERE AND OR IN NOT JOIN ON AS WITH UNION ALL GROUP BY ORDER LIMIT HAVING EXPLAIN DESCRIBE SHOW "
    "TABLES INSERT INTO SETTINGS FORMAT OUTFILE BETWEEN INTERVAL DISTINCT"
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([sql for _, sql in _REFUSED if len(sql) < 2000] + list(LEGITIMATE)), st.data())
def test_blanks_comments_and_the_case_of_keywords_change_no_verdict(sql: str, data: st.DataObject) -> None:
    sql = sql.replace("CANARY", "/canary/secret.txt")
    try:
        tokens = read_tokens(sql)
    except Refused:
        return
    changed = data.draw(_BLANKS)
    for token in tokens:
        # One blank stays what it is, so that a minus before a comment is no part of it.
        blank = " " + data.draw(_BLANKS) if token.before else ""
        text = getattr(token.text, data.draw(_CASES))() if token.upper in _FLAT else token.text
        changed += blank + text
    changed += " " + data.draw(_BLANKS)
    assert _verdict(changed) == _verdict(sql)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="SELECT file('a') `\"\\/*-#;$\n\0{}:,.=‘x1", max_size=60))
def test_any_text_is_allowed_or_refused_and_never_crashes_nor_calls_file(text: str) -> None:
    try:
        allowed = check("SELECT " + text)
    except Refused:
        return
    assert not re.search(r"(?i)file['`\"]?\s*\(", re.sub(r"'(?:[^'\\]|\\.)*'", "''", allowed.statement))


def test_the_statement_that_runs_has_no_comments_and_keeps_its_lines() -> None:
    allowed = check("SELECT 1, -- one\n  'a''b' /* two\n */ AS \"x y\"\nFORMAT JSON;")
    assert allowed.statement == "SELECT 1,\n'a\\'b'\nAS `x y`"
    assert allowed.format == "JSON"


def test_reading_a_statement_twice_gives_the_same_statement() -> None:
    for sql in LEGITIMATE:
        once = check(sql).statement
        assert check(once).statement == once


# limits, settings, tables


def test_limits_become_settings_and_a_query_may_only_lower_them() -> None:
    limits = Limits(seconds=10, memory_bytes=1000, result_rows=5, result_bytes=50, threads=2)
    allowed = check("SELECT 1 SETTINGS max_execution_time = 3, join_use_nulls = 1", limits=limits)
    assert allowed.settings == {
        "readonly": 1,
        "max_execution_time": 3,
        "timeout_overflow_mode": "throw",
        "max_memory_usage": 1000,
        "max_result_rows": 5,
        "max_result_bytes": 50,
        "result_overflow_mode": "throw",
        "max_threads": 2,
        "join_use_nulls": 1,
    }
    assert allowed.statement == "SELECT 1"
    with pytest.raises(Refused) as refused:
        check("SELECT 1 SETTINGS max_execution_time = 11", limits=limits)
    assert refused.value.reason is Reason.SETTING


def test_a_query_over_its_limits_ends_with_an_error_and_no_rows() -> None:
    too_many = check("SELECT number FROM numbers(100)", limits=Limits(result_rows=10))
    too_long = check("SELECT max(sipHash64(number)) FROM numbers(100000000000)", limits=Limits(seconds=1))
    too_large = check("SELECT groupArray(number) FROM numbers(100000000)", limits=Limits(memory_bytes=10_000_000))
    union = check("(SELECT 1 AS n) UNION ALL SELECT number FROM numbers(100)", limits=Limits(result_rows=10))
    asked = [each.bounded for each in (too_many, too_long, too_large, union)]
    answers = _run([*asked, "SELECT 1"], readonly=False)
    assert [answer["rows"] for answer in answers] == [0, 0, 0, 0, 1]
    words = ("TOO_MANY_ROWS", "TIMEOUT", "MEMORY", "TOO_MANY_ROWS")
    assert all(word in answer["error"] for word, answer in zip(words, answers, strict=False))


def test_the_clause_makes_one_query_read_only_and_the_handle_stays_as_it_was(canary: str) -> None:
    clause = check("SELECT 1").bounded.removeprefix("SELECT 1")
    first, second, third = _run(
        [
            f"SELECT * FROM file('{canary}', 'LineAsString'){clause}",
            "SELECT 1",
            "CREATE TABLE default.t (a Int8) ENGINE = Memory",
        ],
        readonly=False,
    )
    assert "READONLY" in first["error"]
    assert (second["error"], third["error"]) == ("", "")


def test_a_server_with_other_tables_names_them() -> None:
    theirs = Tables(
        names={"default": frozenset({"issues"}), "tests": frozenset({"all_test_runs"})}, default_database="tests"
    )
    assert check("SELECT * FROM default.issues", tables=theirs) == Allowed(
        "SELECT * FROM default.issues", (), Limits().settings(), None
    )
    with pytest.raises(Refused) as refused:
        check("SELECT count() FROM all_test_runs", tables=theirs)
    assert refused.value.reason is Reason.NO_TIME_BOUND


def test_a_table_of_several_repositories_without_one_is_a_warning_once() -> None:
    warnings = check("SELECT 1 FROM default.push UNION ALL SELECT 2 FROM default.push").warnings
    assert warnings == (
        "default.push covers several repositories: "
        "add repository_full_name = 'owner/name', unless you mean all of them.",
    )


def test_a_misspelt_table_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(Refused, match=r"did you mean default\.workflow_job\?"):
        check("SELECT * FROM default.workflow_jobs")
    with pytest.raises(Refused, match=r"did you mean tests\.all_test_runs\?"):
        check("SELECT * FROM all_test_runs")


def test_tokens_keep_what_they_are() -> None:
    kinds = [token.kind for token in read_tokens("a `b` 'c' 1.5 {d:String} ->")]
    assert kinds == [Kind.WORD, Kind.QUOTED_NAME, Kind.STRING, Kind.NUMBER, Kind.PARAMETER, Kind.SIGN]
