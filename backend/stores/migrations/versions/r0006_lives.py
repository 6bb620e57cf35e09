"""Adds the lives of tasks as their owners set them, bans, and percentiles of clients' losses."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Creates the tables and adds the column; its value is unknown for older rounds."""
    op.create_table(
        "lives",
        sa.Column("task", sa.String(64), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("running", sa.String(16), nullable=False),
        sa.Column("ended", sa.String(16), nullable=False),
        sa.Column("by_owner", sa.Boolean, nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("since", sa.Float, nullable=False),
    )
    op.create_table(
        "bans",
        sa.Column("task", sa.String(64), primary_key=True),
        sa.Column("client", sa.String(16), primary_key=True),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("since", sa.Float, nullable=False),
    )
    op.add_column("rounds", sa.Column("losses", sa.JSON, nullable=False, server_default="{}"))
