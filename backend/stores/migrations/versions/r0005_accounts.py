"""Creates the tables for accounts, their credentials, their roles on tasks, and invitations."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Adds the tables."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("operator", sa.Boolean, nullable=False),
        sa.Column("password", sa.String(200)),
        sa.Column("created", sa.Float, nullable=False),
        sa.UniqueConstraint("name"),
    )
    _of_account(
        "passkeys",
        sa.Column("id", sa.String(1400), primary_key=True),
        _account(),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sa.Column("uses", sa.Integer, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("used", sa.Float),
    )
    _of_account(
        "sessions",
        sa.Column("secret", sa.String(64), primary_key=True),
        _account(),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
    )
    _of_account(
        "tokens",
        sa.Column("secret", sa.String(64), primary_key=True),
        _account(),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("task", sa.String(64)),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("used", sa.Float),
        sa.Column("expires", sa.Float),
    )
    op.create_table(
        "roles",
        sa.Column("task", sa.String(64), primary_key=True),
        _account(primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
    )
    _of_account(
        "sign_in_links",
        sa.Column("secret", sa.String(64), primary_key=True),
        _account(nullable=True),
        sa.Column("operator", sa.Boolean, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
    )
    op.create_table(
        "invitations",
        sa.Column("secret", sa.String(64), primary_key=True),
        sa.Column("task", sa.String(64), nullable=False),
        sa.Column("note", sa.String(100), nullable=False),
        sa.Column("uses", sa.Integer),
        sa.Column("used", sa.Integer, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("expires", sa.Float),
    )
    op.create_index("ix_invitations_task", "invitations", ["task"])
    op.create_table(
        "admissions",
        sa.Column("visitor", sa.String(64), primary_key=True),
        sa.Column(
            "invitation",
            sa.String(64),
            sa.ForeignKey("invitations.secret", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("created", sa.Float, nullable=False),
    )


def _of_account(name: str, *columns: sa.Column[Any]) -> None:
    op.create_table(name, *columns)
    op.create_index(f"ix_{name}_account", name, ["account"])


def _account(**options: Any) -> sa.Column[str]:
    more = options or {"nullable": False}
    return sa.Column("account", sa.String(16), sa.ForeignKey("accounts.id", ondelete="CASCADE"), **more)
