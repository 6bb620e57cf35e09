"""Adds clients' reputations in rounds, and the clients of a round whose updates did not count."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Adds the table and the column. All updates of earlier rounds counted."""
    op.create_table(
        "reputations",
        sa.Column("run", sa.Integer, sa.ForeignKey("tasks.run"), primary_key=True),
        sa.Column("subject", sa.String(64), primary_key=True),
        sa.Column("client", sa.String(16), nullable=False),
        sa.Column("household", sa.String(64), nullable=False),
        sa.Column("score", sa.Float, nullable=False),
        sa.Column("quarantined", sa.Boolean, nullable=False),
        sa.Column("quarantines", sa.Integer, nullable=False),
        sa.Column("served", sa.Integer, nullable=False),
        sa.Column("probation", sa.Integer, nullable=False),
        sa.Column("timeline", sa.JSON, nullable=False),
    )
    op.create_index("ix_reputations_subject", "reputations", ["subject"])
    op.add_column("rounds", sa.Column("uncounted", sa.JSON, nullable=False, server_default="[]"))
