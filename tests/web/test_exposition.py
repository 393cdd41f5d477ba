"""What /metrics tells: pools without ghosts, our own health, in the format that Prometheus reads."""

import re
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from buildeye import __version__
from buildeye.insight.pools import Pool, pools_now
from buildeye.model import OutsideError
from buildeye.warehouse import Warehouse
from buildeye.web.exposition import FRESH, PoolGauge
from buildeye.web.metrictext import COUNTER, GAUGE, Family, family, metric_text
from buildeye.web.processstats import process_families
from buildeye.web.spool import Spool, open_spool
from tests.warehouse.conftest import empty
from tests.warehouse.facts import NOON, REPOSITORY, a_run, at

from .conftest import delivery
from .pools import STEP, asked_for, fill, metrics_server, ticking


@pytest.fixture
def filled(warehouse: Warehouse) -> Warehouse:
    empty(warehouse)
    fill(warehouse)
    return warehouse


def scraped(address: str, **headers: str) -> httpx2.Response:
    return httpx2.get(f"{address}/metrics", headers=headers, trust_env=False, timeout=30)


def numbers(page: str) -> dict[str, float]:
    """The page's numbers by series as it writes it."""
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines)}


def test_pools_are_told_as_the_controller_of_runners_tells_them(filled: Warehouse, spool: Spool) -> None:
    with metrics_server(filled, spool) as address:
        told = numbers(scraped(address).text)
    gauges = {series: value for series, value in told.items() if series.startswith("gha_")}
    ours, theirs = 'repository="widgets",organization="octo"', 'repository="engine",organization="acme"'
    assert gauges == {
        f'gha_assigned_jobs{{name="npu",{ours}}}': 5, f'gha_running_jobs{{name="npu",{ours}}}': 2,
        f'gha_assigned_jobs{{name="linux,x64",{ours}}}': 3, f'gha_running_jobs{{name="linux,x64",{ours}}}': 3,
        f'gha_assigned_jobs{{name="gpu",{theirs}}}': 1, f'gha_running_jobs{{name="gpu",{theirs}}}': 0,
        f'gha_assigned_jobs{{name="idle",{ours}}}': 0, f'gha_running_jobs{{name="idle",{ours}}}': 0,
        f'gha_assigned_jobs{{name="slow",{ours}}}': 0, f'gha_running_jobs{{name="slow",{ours}}}': 0,
    }  # fmt: skip


ASSIGNED = Pool(REPOSITORY, "npu", 1, 0)
RUNS = Pool(REPOSITORY, "npu", 1, 1)
GHOST = Pool(REPOSITORY, "npu", 0, 0)


@pytest.mark.parametrize(
    ("job", "run", "pool"),
    [
        (asked_for(1, "queued", "npu"), {}, ASSIGNED),
        (asked_for(1, "in_progress", "npu"), {}, RUNS),
        (asked_for(1, "in_progress", "npu", made=-900), {"updated": -900}, RUNS),
        (asked_for(1, "queued", "npu", made=-359), {"updated": -900}, ASSIGNED),
        (asked_for(1, "queued", "npu", made=-361), {"updated": -359}, ASSIGNED),
        (asked_for(1, "queued", "npu", made=-361), {"updated": -361}, GHOST),
        (asked_for(1, "queued", "npu", steps=STEP), {}, GHOST),
        (asked_for(1, "queued", "npu"), {"status": "completed", "conclusion": "cancelled"}, GHOST),
        (asked_for(1, "in_progress", "npu"), {"status": "completed", "conclusion": "cancelled"}, GHOST),
        (asked_for(1, "queued", "npu"), {"attempt": 2}, GHOST),
        (asked_for(1, "completed", "npu", conclusion="success"), {}, GHOST),
        (asked_for(1, "waiting", "npu"), {}, GHOST),
    ],
)
def test_a_job_counts_while_it_waits_or_runs_and_not_as_a_ghost(
    warehouse: Warehouse, job: Any, run: dict[str, Any], pool: Pool
) -> None:
    empty(warehouse)
    warehouse.write_runs([a_run(100, **({"status": "in_progress", "conclusion": None, "updated": -1} | run))])
    warehouse.write_jobs([job])
    assert pools_now(warehouse, NOON) == [pool]


@pytest.mark.parametrize(
    ("began", "labels", "conclusion", "assigned"),
    [
        (-49, ("npu",), "success", 0),
        (-51, ("npu",), "success", 1),
        (-49, ("npu",), "skipped", 1),
        (-49, ("npu", "large"), "success", 1),
    ],
)
def test_a_job_is_a_ghost_when_one_created_ten_minutes_later_has_begun(
    warehouse: Warehouse, began: float, labels: tuple[str, ...], conclusion: str, assigned: int
) -> None:
    empty(warehouse)
    later = asked_for(2, "completed", *labels, made=began, conclusion=conclusion)
    warehouse.write_jobs([asked_for(1, "queued", "npu", made=-60), later])
    assert {pool.name: pool.assigned for pool in pools_now(warehouse, NOON)}["npu"] == assigned


def test_a_job_whose_run_is_not_known_counts(warehouse: Warehouse) -> None:
    empty(warehouse)
    warehouse.write_jobs([asked_for(1, "queued", "npu")])
    assert pools_now(warehouse, NOON) == [ASSIGNED]


def test_our_own_health_is_told(filled: Warehouse, spool: Spool) -> None:
    spool.keep([delivery("a"), delivery("b")])
    spool.settle(1, [(1, "no JSON")])
    with metrics_server(filled, spool, last_pass=lambda: at(-30)) as address:
        answer = scraped(address)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    told = numbers(answer.text)
    own = {name: value for name, value in told.items() if name.startswith("build_eye") and "{" not in name}
    assert own == {
        "build_eye_up": 1, "build_eye_warehouse_up": 1, "build_eye_webhooks_waiting": 1,
        "build_eye_webhooks_refused": 1, "build_eye_webhooks_kept_total": 2,
        "build_eye_last_pass_timestamp_seconds": at(-30).timestamp(),
    }  # fmt: skip
    assert f'build_eye_build_info{{version="{__version__}",python="' in answer.text


def test_this_process_is_told_under_prometheus_names() -> None:
    told = {each.name: each.samples[0][1] for each in process_families()}
    assert set(told) >= {
        "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds",
    }  # fmt: skip
    assert told["process_resident_memory_bytes"] > 2**20
    assert 0 < told["process_start_time_seconds"] <= datetime.now().timestamp()


def away(*_given: object, **_named: object) -> None:
    raise OutsideError("ClickHouse at db.test:8123 does not answer.")


def test_without_the_warehouse_pools_are_left_out_and_the_rest_is_told(
    filled: Warehouse, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filled, "ask", away)
    with metrics_server(filled, spool) as address:
        answer = scraped(address)
    told = numbers(answer.text)
    assert (answer.status_code, told["build_eye_up"], told["build_eye_warehouse_up"]) == (200, 0, 0)
    assert not [series for series in told if series.startswith("gha_")]


def test_without_the_spool_it_is_not_up(filled: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_spool(tmp_path)) as broken:
        monkeypatch.setattr(broken, "counts", away)
        with metrics_server(filled, broken) as address:
            told = numbers(scraped(address).text)
    assert (told["build_eye_up"], told["build_eye_warehouse_up"]) == (0, 1)
    assert "build_eye_webhooks_waiting" not in told


@pytest.mark.parametrize(("step", "asked"), [(0.0, 1), (FRESH.total_seconds(), 3), (-60.0, 3)])
def test_the_warehouse_is_not_asked_again_within_seconds(
    filled: Warehouse, monkeypatch: pytest.MonkeyPatch, step: float, asked: int
) -> None:
    real: Callable[..., Any] = filled.ask
    names: list[str] = []

    def counted(name: str, **parameters: Any) -> Any:
        names.append(name)
        return real(name, **parameters)

    monkeypatch.setattr(filled, "ask", counted)
    gauge = PoolGauge(filled, ticking(step))
    assert gauge.read() and gauge.read() is not None
    gauge.read()
    assert names == ["pool_jobs"] * asked


@pytest.mark.parametrize(("sent", "status"), [("Bearer right", 200), ("Bearer wrong", 401), ("", 401)])
def test_with_a_token_it_must_be_sent(filled: Warehouse, spool: Spool, sent: str, status: int) -> None:
    with metrics_server(filled, spool, token="right") as address:
        assert scraped(address, authorization=sent).status_code == status


def test_a_page_has_help_type_and_escaped_labels() -> None:
    odd = Family("jobs", GAUGE, "Of \\ two\nlines.", (({"name": 'a"b\\c\nd', "more": "向左"}, 1), ({}, 0.5)))
    assert metric_text([odd, family("seen_total", COUNTER, "Seen.", 10**12)]).decode() == (
        "# HELP jobs Of \\\\ two\\nlines.\n# TYPE jobs gauge\n"
        'jobs{name="a\\"b\\\\c\\nd",more="向左"} 1\njobs 0.5\n'
        "# HELP seen_total Seen.\n# TYPE seen_total counter\nseen_total 1000000000000\n"
    )


def test_every_line_is_a_comment_or_a_number(filled: Warehouse, spool: Spool) -> None:
    with metrics_server(filled, spool) as address:
        page = scraped(address).text
    line = re.compile(r'(# (HELP|TYPE) \w+ .+)|(\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? -?[\d.e+-]+)')
    assert page.endswith("\n") and all(line.fullmatch(each) for each in page.splitlines())
