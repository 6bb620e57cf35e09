"""Creates the table of alerts to owners, so that they outlive the server process."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Creates the table; earlier alerts were not stored."""
    op.create_table(
        "alerts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("task", sa.String(64), nullable=False, index=True),
        sa.Column("trouble", sa.String(32), nullable=False),
        sa.Column("text", sa.String(1000), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("cleared", sa.Float),
        sa.Column("acknowledged", sa.Float),
    )
