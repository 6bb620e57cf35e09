"""Creates the tables for tasks, rounds, versions, evaluations and contributions.

Data folders older than the first migration already have some or all of these tables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Creates the tables that are missing."""
    _make(
        "tasks",
        sa.Column("run", sa.Integer, primary_key=True),
        sa.Column("task", sa.String(64), nullable=False),
        sa.Column("bundle", sa.String(64), nullable=False),
        sa.UniqueConstraint("task", "bundle"),
    )
    _make(
        "rounds",
        _run(),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("cohort", sa.Integer, nullable=False),
        sa.Column("accepted", sa.Integer, nullable=False),
        sa.Column("refused", sa.Integer, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("ended", sa.Float, nullable=False),
    )
    _make(
        "versions",
        _run(),
        sa.Column("version", sa.Integer, primary_key=True),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("weights", sa.String(64), nullable=False),
        sa.Column("state", sa.String(64)),
        sa.Column("accepted", sa.Integer, nullable=False),
        sa.Column("examples", sa.Integer, nullable=False),
        sa.Column("loss", sa.Float),
        sa.Column("metrics", sa.JSON, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    _make(
        "evaluations",
        _run(),
        sa.Column("version", sa.Integer, primary_key=True),
        sa.Column("loss", sa.Float, nullable=False),
        sa.Column("metrics", sa.JSON, nullable=False),
    )
    _make(
        "contributions",
        _run(),
        sa.Column("client", sa.String(16), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("backend", sa.String(32), nullable=False),
        sa.Column("accepted", sa.Integer, nullable=False),
        sa.Column("refused", sa.Integer, nullable=False),
        sa.Column("examples", sa.Integer, nullable=False),
    )


def _run() -> sa.Column[int]:
    return sa.Column("run", sa.Integer, sa.ForeignKey("tasks.run"), primary_key=True)


def _make(name: str, *parts: sa.schema.SchemaItem) -> None:
    op.create_table(name, *parts, if_not_exists=True)
