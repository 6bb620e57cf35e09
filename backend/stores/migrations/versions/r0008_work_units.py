"""Creates the tables for assimilated work-unit results, and for checkpoints to resume a run from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Creates the tables; no earlier run had work units."""
    op.create_table(
        "assimilations",
        sa.Column("run", sa.Integer, sa.ForeignKey("tasks.run"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("unit", sa.Integer, nullable=False),
        sa.Column("shard", sa.Integer, nullable=False),
        sa.Column("first", sa.Integer, nullable=False),
        sa.Column("examples", sa.Integer, nullable=False),
        sa.Column("client", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("backend", sa.String(32), nullable=False),
        sa.Column("base", sa.Integer, nullable=False),
        sa.Column("staleness", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("lost", sa.Float, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("loss", sa.Float),
        sa.Column("metrics", sa.JSON, nullable=False),
    )
    op.create_table(
        "checkpoints",
        sa.Column("run", sa.Integer, sa.ForeignKey("tasks.run"), primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("base", sa.Integer, nullable=False),
        sa.Column("weights", sa.String(64), nullable=False),
        sa.Column("slot", sa.String(64)),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
