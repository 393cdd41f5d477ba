"""A child process with a real embedded engine and our schema: runs statements and writes what came back.

Reads JSON from standard input: {"readonly": bool, "parameters": {...}, "statements": [...]}; writes a list of
{"rows": int, "text": str, "error": str}. An engine of its own, because a process holds only one.
"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from chdb import session

SCHEMA = Path(__file__).parents[2] / "src" / "buildeye" / "warehouse" / "schema"


def main() -> None:
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        engine = session.Session(folder)
        _make_schema(engine)
        engine.query("SET max_execution_time = 5")
        if asked["readonly"]:
            engine.query("SET readonly = 1")
        answers = [_run(engine, statement, asked["parameters"]) for statement in asked["statements"]]
        engine.close()
    json.dump(answers, sys.stdout)


def _make_schema(engine: Any) -> None:
    for path in sorted(SCHEMA.glob("*.sql")):
        engine.query(path.read_text("utf-8"))
    engine.query(
        "INSERT INTO default.workflow_job (id, run_id, repository_full_name, name, conclusion, head_branch, labels) "
        "SELECT number, number, 'a/b', concat('job ', number), 'failure', 'main', ['linux'] FROM numbers(20)"
    )
    engine.query(
        "INSERT INTO tests.all_test_runs (file, classname, name, job_id, status, time_inserted) "
        "SELECT 'a.py', 'TestA', concat('test_', number), number, 'failed', now() FROM numbers(20)"
    )


def _run(engine: Any, statement: str, parameters: dict[str, Any]) -> dict[str, Any]:
    used = {name: _text(value) for name, value in parameters.items() if re.search(rf"\{{\s*{name}\s*:", statement)}
    try:
        answer = engine.query(statement, "JSONEachRow", params=used)
    except Exception as error:  # noqa: BLE001  whatever the engine says is the answer
        # chDB 26.9 hands the rows that a failed query had written already to the next one: take them away.
        if "max_result_rows" in statement:
            engine.query("SELECT 1")
        return {"rows": 0, "text": "", "error": str(error)[:2000]}
    text = answer.bytes().decode("utf-8", "replace")
    return {"rows": text.count("\n"), "text": text[:200_000], "error": ""}


def _text(value: Any) -> Any:
    return "[" + ",".join(repr(each) for each in value) + "]" if isinstance(value, list) else value


if __name__ == "__main__":
    main()
