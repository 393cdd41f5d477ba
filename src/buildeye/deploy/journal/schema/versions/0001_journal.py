"""Services with their leases, deployments, events, samples, process runs and requests."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the six tables; what the seed's statements do not name has a default."""
    _services()
    _deployments()
    _events()
    _signals()
    _runs()
    _requests()


def _text(name: str, default: str | None = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def _number(name: str, default: str | None = "0") -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default=default)


def _long(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def _yes_or_no(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())


def _mapping(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.JSON, nullable=False, server_default="{}")


def _moment(name: str, wall: str = "") -> list[sa.Column[object]]:
    return [
        sa.Column(wall or f"{name}_at", sa.Text, comment="wall time, UTC: YYYY-MM-DD HH:MM:SS.mmm"),
        sa.Column(f"{name}_boot", sa.Text, nullable=False, server_default=""),
        sa.Column(f"{name}_ticks", sa.Float(53), nullable=False, server_default="0"),
    ]


def _growing(name: str) -> sa.Column[int]:
    """A number that grows with each row: SQLite's rowid, a sequence of PostgreSQL."""
    kind = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column(name, kind, primary_key=True, autoincrement=True)


def _services() -> None:
    op.create_table(
        "service",
        sa.Column("name", sa.Text, primary_key=True),
        _mapping("spec"),
        _text("spec_path"),
        _text("host"),
        _text("in_service"),
        _text("holder"),
        _text("holder_host"),
        _number("holder_pid"),
        _long("holder_start_time"),
        _text("holder_boot"),
        _number("lease_epoch"),
        sa.Column("lease_until", sa.Float(53), nullable=False, server_default="0"),
        _text("lease_boot"),
    )


def _deployments() -> None:
    op.create_table(
        "deployment",
        _growing("number"),
        sa.Column("deployment_id", sa.Text, nullable=False, unique=True),
        _text("service"),
        _text("version"),
        _text("status", "created"),
        _number("epoch"),
        *_moment("created"),
        _text("commit_sha"),
        _text("repository"),
        _text("profile", "default"),
        _text("kind", "release"),
        _mapping("spec"),
        _text("previous"),
        sa.Column("slot", sa.Integer),
        sa.Column("baseline_good", sa.Integer),
        sa.Column("baseline_total", sa.Integer),
        _text("baseline_ids"),
        *_moment("cutover"),
        *_moment("closed", "monitoring_closed_at"),
        sa.Column("rollback_reason", sa.Text, server_default=""),
        _text("note"),
        _yes_or_no("paused"),
        _yes_or_no("forced"),
        _text("requested_by"),
        sqlite_autoincrement=True,
    )
    op.create_index("deployment_service", "deployment", ["service", "number"])
    op.create_index("deployment_version", "deployment", ["service", "version", "number"])


def _events() -> None:
    op.create_table(
        "deployment_event",
        _growing("seq"),
        sa.Column("event_id", sa.Text, nullable=False, unique=True),
        _text("deployment_id", None),
        _text("event", None),
        _text("state_before", None),
        _text("state_after", None),
        _number("epoch", None),
        *_moment("happened"),
        _text("reason"),
        _mapping("numbers"),
        _text("done_by"),
        sqlite_autoincrement=True,
    )
    op.create_index("deployment_event_deployment", "deployment_event", ["deployment_id", "seq"])


def _signals() -> None:
    op.create_table(
        "deploy_health_signal",
        _growing("seq"),
        sa.Column("signal_id", sa.Text, nullable=False, unique=True),
        _text("deployment_id", None),
        *_moment("sampled"),
        _text("signal_type", None),
        _text("status", None),
        sa.Column("detail", sa.Text),
        _mapping("numbers"),
        sqlite_autoincrement=True,
    )
    op.create_index("deploy_health_signal_kind", "deploy_health_signal", ["deployment_id", "signal_type", "seq"])


def _runs() -> None:
    op.create_table(
        "process_run",
        sa.Column("deployment_id", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        _text("nonce"),
        _text("boot"),
        _number("pid"),
        _long("start_time"),
        _number("keeper_pid"),
        _long("keeper_start_time"),
        *_moment("started"),
        *_moment("ended"),
        sa.Column("exit_code", sa.Integer),
        _yes_or_no("expected"),
    )


def _requests() -> None:
    op.create_table(
        "deploy_request",
        _growing("seq"),
        _text("service", None),
        _text("deployment_id"),
        _text("kind", None),
        _mapping("arguments"),
        _text("asked_by"),
        *_moment("asked"),
        _text("answer"),
        sa.Column("ok", sa.Boolean),
        sqlite_autoincrement=True,
    )
    unanswered = sa.text("ok IS NULL")
    op.create_index(
        "deploy_request_unanswered",
        "deploy_request",
        ["seq"],
        sqlite_where=unanswered,
        postgresql_where=unanswered,
    )
