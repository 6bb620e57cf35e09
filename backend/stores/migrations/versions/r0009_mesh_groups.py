"""Creates the table for the groups of a mesh whose members can certify what follows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Creates the table; the groups of earlier versions were not recorded."""
    op.create_table(
        "mesh_groups",
        sa.Column("run", sa.Integer, sa.ForeignKey("tasks.run"), primary_key=True),
        sa.Column("round", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("group", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("members", sa.JSON, nullable=False),
    )
