"""Adds the masked groups of a round, and those whose sums the robust rule left out."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Adds the columns. Rounds before had no groups."""
    op.add_column("rounds", sa.Column("groups", sa.Integer, nullable=False, server_default="0"))
    op.add_column("rounds", sa.Column("groups_used", sa.Integer, nullable=False, server_default="0"))
    op.add_column("rounds", sa.Column("left_out_groups", sa.JSON, nullable=False, server_default="[]"))
