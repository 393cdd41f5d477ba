"""The tables of the journal as statements see them; `schema/` makes them.

`deployment` and `deploy_health_signal` carry the seed's columns by the seed's names. A moment is three columns: wall
time as text that sorts, boot and ticks. Numbers that grow (`number`, `seq`) say the order, never a time.
"""

from typing import Final

import sqlalchemy as sa


def moment_columns(name: str, wall: str = "") -> list[sa.Column[object]]:
    """The three columns of a moment; `wall` is the name of the first where it is not NAME_at."""
    return [
        sa.Column(wall or f"{name}_at", sa.Text),
        sa.Column(f"{name}_boot", sa.Text),
        sa.Column(f"{name}_ticks", sa.Float),
    ]


_TABLES: Final = sa.MetaData()

SERVICE: Final = sa.Table(
    "service",
    _TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("spec", sa.JSON),
    sa.Column("spec_path", sa.Text),
    sa.Column("host", sa.Text),
    sa.Column("in_service", sa.Text),
    sa.Column("holder", sa.Text),
    sa.Column("holder_host", sa.Text),
    sa.Column("holder_pid", sa.Integer),
    sa.Column("holder_start_time", sa.BigInteger),
    sa.Column("holder_boot", sa.Text),
    sa.Column("lease_epoch", sa.Integer),
    sa.Column("lease_until", sa.Float),
    sa.Column("lease_boot", sa.Text),
)

DEPLOYMENT: Final = sa.Table(
    "deployment",
    _TABLES,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("deployment_id", sa.Text, unique=True),
    sa.Column("service", sa.Text),
    sa.Column("version", sa.Text),
    sa.Column("status", sa.Text),
    sa.Column("epoch", sa.Integer),
    *moment_columns("created"),
    sa.Column("commit_sha", sa.Text),
    sa.Column("repository", sa.Text),
    sa.Column("profile", sa.Text),
    sa.Column("kind", sa.Text),
    sa.Column("spec", sa.JSON),
    sa.Column("previous", sa.Text),
    sa.Column("slot", sa.Integer),
    sa.Column("baseline_good", sa.Integer),
    sa.Column("baseline_total", sa.Integer),
    sa.Column("baseline_ids", sa.Text),
    *moment_columns("cutover"),
    *moment_columns("closed", "monitoring_closed_at"),
    sa.Column("rollback_reason", sa.Text),
    sa.Column("note", sa.Text),
    sa.Column("paused", sa.Boolean),
    sa.Column("forced", sa.Boolean),
    sa.Column("requested_by", sa.Text),
)

EVENT: Final = sa.Table(
    "deployment_event",
    _TABLES,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("event_id", sa.Text, unique=True),
    sa.Column("deployment_id", sa.Text),
    sa.Column("event", sa.Text),
    sa.Column("state_before", sa.Text),
    sa.Column("state_after", sa.Text),
    sa.Column("epoch", sa.Integer),
    *moment_columns("happened"),
    sa.Column("reason", sa.Text),
    sa.Column("numbers", sa.JSON),
    sa.Column("done_by", sa.Text),
)

SIGNAL: Final = sa.Table(
    "deploy_health_signal",
    _TABLES,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("signal_id", sa.Text, unique=True),
    sa.Column("deployment_id", sa.Text),
    *moment_columns("sampled"),
    sa.Column("signal_type", sa.Text),
    sa.Column("status", sa.Text),
    sa.Column("detail", sa.Text),
    sa.Column("numbers", sa.JSON),
)

RUN: Final = sa.Table(
    "process_run",
    _TABLES,
    sa.Column("deployment_id", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("nonce", sa.Text),
    sa.Column("boot", sa.Text),
    sa.Column("pid", sa.Integer),
    sa.Column("start_time", sa.BigInteger),
    sa.Column("keeper_pid", sa.Integer),
    sa.Column("keeper_start_time", sa.BigInteger),
    *moment_columns("started"),
    *moment_columns("ended"),
    sa.Column("exit_code", sa.Integer),
    sa.Column("expected", sa.Boolean),
)

REQUEST: Final = sa.Table(
    "deploy_request",
    _TABLES,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("service", sa.Text),
    sa.Column("deployment_id", sa.Text),
    sa.Column("kind", sa.Text),
    sa.Column("arguments", sa.JSON),
    sa.Column("asked_by", sa.Text),
    *moment_columns("asked"),
    sa.Column("answer", sa.Text),
    sa.Column("ok", sa.Boolean),
)
