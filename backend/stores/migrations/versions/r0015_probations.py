"""Adds the probations of newcomers, and how many of their updates a round checked."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Creates the table and adds the column. No round before checked updates that did not count."""
    op.add_column("rounds", sa.Column("checked", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "probations",
        sa.Column("run", sa.Integer, sa.ForeignKey("tasks.run"), primary_key=True),
        sa.Column("identity", sa.String(80), primary_key=True),
        sa.Column("rounds", sa.Integer, nullable=False),
    )
