"""Adds the integrity checks of versions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Adds the table. Versions before were not checked."""
    op.create_table(
        "integrity_checks",
        sa.Column("run", sa.Integer, sa.ForeignKey("tasks.run"), primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("score", sa.Float),
        sa.Column("parts", sa.JSON, nullable=False),
        sa.Column("against", sa.Integer),
        sa.Column("cause", sa.String(16), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("accepted", sa.Float),
    )
