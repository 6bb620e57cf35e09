"""Lives of tasks as their owners lead them, bans, and how far apart clients' losses were."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Makes the tables, and adds the column; of older rounds it is not known."""
    op.create_table(
        "lives",
        sa.Column("task", sa.String(64), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("running", sa.String(16), nullable=False),
        sa.Column("ended", sa.String(16), nullable=False),
        sa.Column("by_owner", sa.Boolean, nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("since", sa.Float, nullable=False),
    )
    op.create_table(
        "bans",
        sa.Column("task", sa.String(64), primary_key=True),
        sa.Column("client", sa.String(16), primary_key=True),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("since", sa.Float, nullable=False),
    )
    op.add_column("rounds", sa.Column("losses", sa.JSON, nullable=False, server_default="{}"))
