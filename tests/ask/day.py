"""A day of two pools as Actions Runner Controller counts them, and of one queue that another program counts."""

from datetime import UTC, datetime, timedelta

from .server import Samples, every

BEGAN = datetime(2026, 5, 28, tzinfo=UTC)
ENDED = BEGAN + timedelta(hours=24)
RUSH = (BEGAN + timedelta(hours=9), BEGAN + timedelta(hours=11))


def _assigned(at: datetime) -> float:
    return 14 if RUSH[0] <= at < RUSH[1] else 3


def _day() -> Samples:
    moments = list(every(5, BEGAN, 24))
    npu, cpu = '{name="linux-npu",namespace="ci"}', '{name="linux-cpu",namespace="ci"}'
    return {
        f"gha_assigned_jobs{npu}": [(at, _assigned(at)) for at in moments],
        f"gha_running_jobs{npu}": [(at, min(4, _assigned(at))) for at in moments],
        f"gha_assigned_jobs{cpu}": [(at, 1) for at in moments],
        f"gha_running_jobs{cpu}": [(at, 2) for at in moments],
        'ci_queue_length{queue="gpu",site="a"}': [(at, 2) for at in moments],
        'ci_queue_length{queue="gpu",site="b"}': [(at, 3) for at in moments],
        'ci_ratio{queue="gpu"}': [(at, float("nan")) for at in moments],
    }


DAY = _day()
