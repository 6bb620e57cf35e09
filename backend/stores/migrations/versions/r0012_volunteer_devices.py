"""Creates the table of the devices that volunteers linked."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "volunteer_devices",
        sa.Column("client", sa.String(16), primary_key=True),
        sa.Column("volunteer", sa.String(64), nullable=False, index=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("since", sa.Float, nullable=False),
    )
