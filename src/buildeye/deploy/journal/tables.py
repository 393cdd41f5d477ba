"""The tables of the journal as statements see them; `schema/` makes them.

`deployment` and `deploy_health_signal` carry the seed's columns by the seed's names. A moment is three columns: wall
time as text that sorts, boot and ticks. Numbers that grow (`number`, `seq`) say the order, never a time.
"""

from typing import Any, Final

import sqlalchemy as sa


class _Text(sa.types.TypeDecorator[str]):
    """Text of any origin, such as a program's last words: what no database can hold becomes U+FFFD."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """As it is stored: without NUL, which PostgreSQL refuses, and halves of surrogate pairs."""
        if value is None or (value.isascii() and "\0" not in value):
            return value
        return (
            value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        )


def moment_columns(name: str, wall: str = "") -> list[sa.Column[Any]]:
    """The three columns of a moment; `wall` is the name of the first where it is not NAME_at."""
    return [
        sa.Column(wall or f"{name}_at", _Text),
        sa.Column(f"{name}_boot", _Text),
        sa.Column(f"{name}_ticks", sa.Float),
    ]


_TABLES: Final = sa.MetaData()

SERVICE: Final = sa.Table(
    "service",
    _TABLES,
    sa.Column("name", _Text, primary_key=True),
    sa.Column("spec", sa.JSON),
    sa.Column("spec_path", _Text),
    sa.Column("host", _Text),
    sa.Column("in_service", _Text),
    sa.Column("holder", _Text),
    sa.Column("holder_host", _Text),
    sa.Column("holder_pid", sa.Integer),
    sa.Column("holder_start_time", sa.BigInteger),
    sa.Column("holder_boot", _Text),
    sa.Column("lease_epoch", sa.Integer),
    sa.Column("lease_until", sa.Float),
    sa.Column("lease_boot", _Text),
)

DEPLOYMENT: Final = sa.Table(
    "deployment",
    _TABLES,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("deployment_id", _Text, unique=True),
    sa.Column("service", _Text),
    sa.Column("version", _Text),
    sa.Column("status", _Text),
    sa.Column("epoch", sa.Integer),
    *moment_columns("created"),
    sa.Column("commit_sha", _Text),
    sa.Column("repository", _Text),
    sa.Column("profile", _Text),
    sa.Column("kind", _Text),
    sa.Column("spec", sa.JSON),
    sa.Column("previous", _Text),
    sa.Column("slot", sa.Integer),
    sa.Column("baseline_good", sa.Integer),
    sa.Column("baseline_total", sa.Integer),
    sa.Column("baseline_ids", _Text),
    *moment_columns("cutover"),
    *moment_columns("closed", "monitoring_closed_at"),
    sa.Column("rollback_reason", _Text),
    sa.Column("note", _Text),
    sa.Column("paused", sa.Boolean),
    sa.Column("forced", sa.Boolean),
    sa.Column("requested_by", _Text),
)

EVENT: Final = sa.Table(
    "deployment_event",
    _TABLES,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("event_id", _Text, unique=True),
    sa.Column("deployment_id", _Text),
    sa.Column("event", _Text),
    sa.Column("state_before", _Text),
    sa.Column("state_after", _Text),
    sa.Column("epoch", sa.Integer),
    *moment_columns("happened"),
    sa.Column("reason", _Text),
    sa.Column("numbers", sa.JSON),
    sa.Column("done_by", _Text),
)

SIGNAL: Final = sa.Table(
    "deploy_health_signal",
    _TABLES,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("signal_id", _Text, unique=True),
    sa.Column("deployment_id", _Text),
    *moment_columns("sampled"),
    sa.Column("signal_type", _Text),
    sa.Column("status", _Text),
    sa.Column("detail", _Text),
    sa.Column("numbers", sa.JSON),
)

RUN: Final = sa.Table(
    "process_run",
    _TABLES,
    sa.Column("deployment_id", _Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("nonce", _Text),
    sa.Column("boot", _Text),
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
    sa.Column("service", _Text),
    sa.Column("deployment_id", _Text),
    sa.Column("kind", _Text),
    sa.Column("arguments", sa.JSON),
    sa.Column("asked_by", _Text),
    *moment_columns("asked"),
    sa.Column("answer", _Text),
    sa.Column("ok", sa.Boolean),
)
