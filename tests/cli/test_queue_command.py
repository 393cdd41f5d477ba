"""`build-eye queue`: from facts in a warehouse to the tables, JSON and CSV."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from buildeye.warehouse import open_warehouse
from tests.cli.program import build_eye
from tests.warehouse.facts import REPOSITORY, a_job, a_run, at


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve jobs wait for `npu`, one an hour, and one runs; `linux` starts one after a minute; one ghost waits."""
    place = tmp_path_factory.mktemp("queue") / "warehouse"
    wait = a_job(status="queued", conclusion=None, completed=None, steps=())
    wait = replace(wait, runner_name=None, runner_id=None, labels=("npu",))
    jobs = [replace(wait, id=n, created_at=at(60 * n), started_at=at(60 * n)) for n in range(12)]
    jobs.append(replace(wait, id=50, run_id=200, labels=("linux",), created_at=at(0), started_at=at(0)))
    run = a_job(51, status="in_progress", conclusion=None, completed=None)
    jobs.append(replace(run, labels=("npu",), created_at=at(-5), started_at=at(0)))
    jobs.append(replace(a_job(52, completed=715), labels=("linux",), created_at=at(699), started_at=at(700)))
    with open_warehouse(f"chdb://{place}") as warehouse:
        warehouse.write_runs([a_run(100, status="in_progress", conclusion=None, updated=600), a_run(200)])
        warehouse.write_jobs(jobs)
    return place


@pytest.fixture(autouse=True)
def here(filled: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del folder
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", f"chdb://{filled}")
    monkeypatch.setattr("buildeye.cli.queue.now", lambda: at(720))


def asked(*arguments: str) -> str:
    answer = build_eye("queue", *arguments, "--target-repo", REPOSITORY)
    assert (answer.code, answer.err) == (0, "")
    return answer.out


@pytest.mark.parametrize("arguments", [(), ("--now",)])
def test_a_table_says_who_waits_now_and_how_long(arguments: tuple[str, ...]) -> None:
    _, npu, *more = asked(*arguments).splitlines()
    assert npu.split()[:3] == ["npu", "12", "1"] and "6 h 30 min" in npu and "12 h" in "\n".join([npu, *more])
    assert any(line.split()[:1] == ["linux"] and "1 min" in line for line in more)
    assert all(len(line) <= 100 for line in more)


def test_json_names_every_percentile_for_what_it_is() -> None:
    npu, linux = json.loads(asked("-o", "json"))
    assert (npu["depth"], npu["assigned"], npu["running"], npu["waiting_p50"]) == (12, 13, 1, 6.5 * 3600)
    assert (npu["started"], npu["started_p50"]) == (0, None)
    assert (linux["depth"], linux["ghosts"], linux["ghosts_over"]) == (0, 1, 1)
    assert (linux["started"], linux["started_p99"], linux["waiting_p50"]) == (1, 60.0, None)


def test_over_time_lasting_depth_is_too_little_capacity() -> None:
    head, npu, linux = asked("--since", "12h").splitlines()
    assert head.split("  ")[0].strip() == "label" and "too little capacity" in npu and "12 h" in npu
    assert "calm" in linux and linux.split()[-1] == "1"


def test_csv_has_a_line_a_label_and_stretch_of_time() -> None:
    told = asked("--since", "12h", "--bucket", "6h", "--label", "npu", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(told)))
    assert [(row["label"], row["queued"], row["depth"], row["pattern"]) for row in rows] == [
        ("npu", "6", "3.5", "capacity"), ("npu", "12", "9.5", "capacity"),
    ]  # fmt: skip


def test_a_label_nobody_asks_for_has_no_queue() -> None:
    none = f"{REPOSITORY}: no job waits, runs or started within the hour that asks for gpu\n"
    assert asked("--label", "gpu") == none
    assert asked("--label", "gpu", "--since", "1h").startswith(
        f"{REPOSITORY}: no job waited or ran since 2026-11-30 23:00"
    )
    assert json.loads(asked("--label", "gpu", "-o", "json")) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--now", "--since", "1h"), "two questions"), (("--since", "soon"), "--since"),
        (("--since", "1h", "--bucket", "x"), "--bucket"), (("--since", "90d", "--bucket", "1m"), "129,600 stretches"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused(arguments: tuple[str, ...], said: str) -> None:
    answer = build_eye("queue", *arguments, "--target-repo", REPOSITORY)
    assert answer.code == 2 and said in answer.err and answer.err.count("\n") == 1
