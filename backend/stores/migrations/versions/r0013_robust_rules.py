"""Adds the robust rule of a round, and the clients whose updates it left out."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Adds the columns. Rounds before took the mean."""
    op.add_column("rounds", sa.Column("rule", sa.String(100), nullable=False, server_default=""))
    op.add_column("rounds", sa.Column("left_out", sa.JSON, nullable=False, server_default="[]"))
