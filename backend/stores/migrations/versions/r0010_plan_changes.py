"""Creates the table for what owners changed in the plans of their tasks after the launch."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "plan_changes",
        sa.Column("task", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("value", sa.JSON, nullable=False),
        sa.Column("was", sa.JSON, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
