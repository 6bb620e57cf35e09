"""Adds the counts of a round's accepted updates by kind of client."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Adds the column; its value is unknown for older rounds."""
    op.add_column("rounds", sa.Column("accepted_by", sa.JSON, nullable=False, server_default="{}"))
