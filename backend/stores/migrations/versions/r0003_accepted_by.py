"""What kind of clients the accepted updates of a round came from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Adds the column; of older rounds it is not known."""
    op.add_column("rounds", sa.Column("accepted_by", sa.JSON, nullable=False, server_default="{}"))
