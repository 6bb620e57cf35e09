"""Upgrades the schema of the records with alembic when a server opens them."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine, inspect, text

from backend.errors import StoreError

# The newest migration. Alembic is imported only for an upgrade: that takes a third of the start-up time.
HEAD = "0017"
KNOWN = (*(f"{number:04}" for number in range(1, 17)), HEAD)
MIGRATIONS = Path(__file__).with_name("migrations")


def upgrade(engine: Engine, place: str) -> None:
    """Runs the missing migrations, each in one transaction, so that a killed upgrade can resume.

    Raises StoreError, naming `place`, when a newer Minga wrote them.
    """
    number = _revision(engine)
    if number == HEAD:
        return
    if number is not None and number not in KNOWN:
        raise StoreError(
            f"The records in {place} were written by a newer Minga (schema {number}; this one knows {HEAD}). "
            "Install that version again, or choose another folder with --data-dir."
        )
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _revision(engine: Engine) -> str | None:
    """Returns the number of the last migration; None before the first."""
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        number: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
        return number
