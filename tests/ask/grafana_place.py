"""A Grafana for tests: the look-alike before an embedded engine behind ClickHouse's HTTP interface and a Prometheus."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2

from buildeye.ask.grafana import Grafana
from buildeye.simulator.grafana import Faults, State, grafana_app
from buildeye.simulator.server import serving
from buildeye.warehouse import open_warehouse

from .server import Samples

TOKEN = "glsa_" + "t" * 32
PASSWORD = "right"
_DOOR = Path(__file__).parents[1] / "warehouse" / "clickhouse_door.py"
FILL = (
    # Two jobs of the repository fail on main, one of them in two rows of one id; the rest must not count.
    """INSERT INTO default.workflow_job
       (id, run_id, repository_full_name, name, conclusion, head_branch, completed_at, labels)
       SELECT number, number, 'pytorch/pytorch', if(number < 7, 'linux / test', 'lint'), 'failure', 'main',
              now() - INTERVAL 1 DAY, ['linux', 'gpu'] FROM numbers(10)""",
    """INSERT INTO default.workflow_job
       (id, run_id, repository_full_name, name, conclusion, head_branch, completed_at, labels)
       VALUES (0, 0, 'pytorch/pytorch', 'linux / test', 'failure', 'main', now() - INTERVAL 1 DAY, ['linux']),
              (90, 90, 'pytorch/vision', 'lint', 'failure', 'main', now() - INTERVAL 1 DAY, ['linux']),
              (91, 91, 'pytorch/pytorch', 'lint', 'failure', 'feature', now() - INTERVAL 1 DAY, ['linux']),
              (92, 92, 'pytorch/pytorch', 'lint', 'success', 'main', now() - INTERVAL 1 DAY, ['linux']),
              (93, 93, 'pytorch/pytorch', 'lint', 'failure', 'main', now() - INTERVAL 3 WEEK, ['linux'])""",
    """INSERT INTO tests.all_test_runs
       (file, classname, name, job_id, failure_count, error_count, skipped_count, time_inserted)
       SELECT 'lazy/test_ts_opinfo.py', 'TestLazy', if(number < 6, 'test_add', 'test_mul'), number,
              number = 1, 0, number = 2 OR number = 7, now() - INTERVAL 1 DAY FROM numbers(9)""",
)


@contextmanager
def clickhouse(folder: Path) -> Iterator[str]:
    """A ClickHouse with our schema and what the guide asks for; gives its address."""
    command = [sys.executable, str(_DOOR), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as door:
        assert door.stdin is not None and door.stdout is not None
        port = int(door.stdout.readline())
        open_warehouse(f"clickhouse://default:{PASSWORD}@127.0.0.1:{port}/?secure=0").close()
        for statement in FILL:
            answer = httpx2.post(f"http://127.0.0.1:{port}/", content=statement, auth=("default", PASSWORD), timeout=60)
            assert answer.is_success, answer.text
        yield f"http://127.0.0.1:{port}/"
        door.stdin.close()


def recent_samples(now: datetime) -> Samples:
    """A number a minute from seven hours before `now` to three after it, so that tests may take long.

    Two pools in two clusters, one of them too small.
    """
    moments = [now - timedelta(hours=7) + timedelta(minutes=m) for m in range(10 * 60)]
    npu, cpu = '{name="linux-npu",cluster="a"}', '{name="linux-cpu",cluster="b"}'
    return {
        f"gha_assigned_jobs{npu}": [(at, 14) for at in moments],
        f"gha_running_jobs{npu}": [(at, 4) for at in moments],
        f"gha_assigned_jobs{cpu}": [(at, 1) for at in moments],
        f"gha_running_jobs{cpu}": [(at, 2) for at in moments],
        'ci_ratio{queue="gpu"}': [(at, float("nan")) for at in moments],
    }


def present() -> datetime:
    """The time, to the second: what is asked of `now()` can be asked of no other."""
    return datetime.now(UTC).replace(microsecond=0)


@dataclass(frozen=True)
class Place:
    """A Grafana that runs: where it is, what goes wrong there, and what it was asked."""

    url: str
    faults: Faults = field(default_factory=Faults)
    state: State = field(default_factory=State)

    def client(self, token: str = TOKEN, namespace: str = "default") -> Grafana:
        return Grafana(self.url, token, namespace=namespace, retries=0)


@contextmanager
def place(
    clickhouse: str = "", prometheus: str = "", namespace: str = "default", password: str = PASSWORD
) -> Iterator[Place]:
    """A Grafana before these servers, which knows the token TOKEN."""
    faults, state = Faults(), State(tokens={TOKEN})
    app = grafana_app(
        clickhouse=clickhouse, password=password, prometheus=prometheus, namespace=namespace, faults=faults, state=state
    )
    with serving(app) as url:
        yield Place(url, faults, state)
