"""Adds the noise in each version, and how often each run was opened."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Adds the columns; there was no noise before."""
    op.add_column("versions", sa.Column("privacy", sa.JSON))
    op.add_column("tasks", sa.Column("openings", sa.Integer, nullable=False, server_default="0"))
