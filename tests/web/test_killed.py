"""What was acknowledged survives kill -9 of the server, whatever it was doing."""

from pathlib import Path

from benchmarks.webhook_kills import kill_often


def test_no_acknowledged_delivery_is_lost_or_doubled_by_kill_9(tmp_path: Path) -> None:
    outcome = kill_often(tmp_path, kills=10, seed=7)
    assert (outcome.lost, outcome.doubled, outcome.refused) == (0, 0, 0)
    assert outcome.acknowledged >= 10
