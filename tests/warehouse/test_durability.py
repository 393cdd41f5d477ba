"""What was acknowledged survives a kill in the middle of writing."""

import signal
import subprocess
import sys
from pathlib import Path

WRITER = """
import sys
from datetime import UTC, datetime
from buildeye.model import Job
from buildeye.warehouse import open_warehouse

with open_warehouse(sys.argv[1]) as warehouse:
    number = 0
    while True:
        warehouse.write_jobs([
            Job(id=number * 10 + each, run_id=number, name="unit", status="in_progress",
                created_at=datetime(2026, 11, 30, tzinfo=UTC), repository_full_name="octo/widgets")
            for each in range(10)
        ])
        print(number, flush=True)
        number = (number + 1) % 20
"""
READER = """
import sys
from buildeye.warehouse import open_warehouse

with open_warehouse(sys.argv[1]) as warehouse:
    asked = "SELECT run_id, count(), uniqExact(id) FROM default.workflow_job_latest GROUP BY run_id ORDER BY run_id"
    for row in warehouse.query(asked).rows:
        print(*row)
"""


def test_every_acknowledged_row_survives_kill_9_and_none_is_doubled(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path / 'facts'}"
    with subprocess.Popen([sys.executable, "-c", WRITER, dsn], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(25)]
        writer.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in writer.stdout.read().split()]
    read = subprocess.run([sys.executable, "-c", READER, dsn], capture_output=True, text=True, check=True).stdout
    kept = {int(run): (int(rows), int(jobs)) for run, rows, jobs in (line.split() for line in read.splitlines())}
    assert set(acknowledged) <= set(kept)
    assert set(kept.values()) == {(10, 10)}
