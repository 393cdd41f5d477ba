"""What waits for the warehouse, which deliveries were seen, and what could not be read."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the three tables."""
    op.create_table(
        "waiting",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("delivery", sa.Text, nullable=False),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("received_at", sa.Integer, nullable=False, comment="milliseconds since 1970"),
        sa.Column("size", sa.Integer, nullable=False, comment="bytes of the body as it came"),
        sa.Column("body", sa.LargeBinary, nullable=False, comment="compressed with zstd"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "remembered",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("delivery", sa.Text, nullable=False, unique=True),
        sa.Column("received_at", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "refused",
        sa.Column("number", sa.Integer, primary_key=True, comment="that it had while it waited"),
        sa.Column("delivery", sa.Text, nullable=False),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("received_at", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False, comment="as it came"),
    )
