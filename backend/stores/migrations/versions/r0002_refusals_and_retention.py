"""Adds refusals by code, deleted versions (`let_go`), control variates, and evaluations by clients."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Adds columns, and includes the source in an evaluation's key."""
    op.add_column("rounds", sa.Column("refusals", sa.JSON, nullable=False, server_default="{}"))
    op.add_column("versions", sa.Column("control", sa.String(64)))
    op.add_column("versions", sa.Column("let_go", sa.Float))
    op.create_index("ix_versions_weights", "versions", ["weights"])
    # SQLite cannot change a key, so the table is recreated, for all databases alike.
    op.rename_table("evaluations", "evaluations_before")
    op.create_table(
        "evaluations",
        sa.Column("run", sa.Integer, sa.ForeignKey("tasks.run"), primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True),
        sa.Column("source", sa.String(16), primary_key=True, server_default="server"),
        sa.Column("loss", sa.Float, nullable=False),
        sa.Column("metrics", sa.JSON, nullable=False),
        sa.Column("examples", sa.Integer, nullable=False, server_default="0"),
    )
    columns = "run, version, loss, metrics"
    op.execute(f"INSERT INTO evaluations ({columns}) SELECT {columns} FROM evaluations_before")  # noqa: S608 - no input in it.
    op.drop_table("evaluations_before")
