"""Adds where the result of a work unit begins, and how many visits to rows it has."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Adds the columns. Results before had no rests, and their visits are unknown."""
    op.add_column("assimilations", sa.Column("first_step", sa.Integer, nullable=False, server_default="0"))
    op.add_column("assimilations", sa.Column("visits", sa.Integer))
