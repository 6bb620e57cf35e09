"""Creates the tables of new records, and upgrades those of older ones with alembic."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Column, Engine, MetaData, PrimaryKeyConstraint, String, Table, inspect, select

from backend.errors import StoreError
from backend.stores import tables

# The newest migration. Alembic is imported only for an upgrade: that takes a third of the start-up time.
HEAD = "0017"
KNOWN = (*(f"{number:04}" for number in range(1, 17)), HEAD)
MIGRATIONS = Path(__file__).with_name("migrations")
# Alembic's own table, which names the last migration.
_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def upgrade(engine: Engine, place: str) -> None:
    """Creates all tables where there are none, in one transaction, or runs the missing migrations.

    Either can resume after a kill. Raises StoreError, naming `place`, when a newer Minga wrote the records.
    """
    with engine.connect() as connection:
        names = inspect(connection).get_table_names()
        number = connection.scalar(select(_VERSION.c.version_num)) if _VERSION.name in names else None
    if not names:
        _create(engine)
    elif number is None or number in KNOWN[:-1]:
        migrate(engine)
    elif number != HEAD:
        raise StoreError(
            f"The records in {place} were written by a newer Minga (schema {number}; this one knows {HEAD}). "
            "Install that version again, or choose another folder with --data-dir."
        )


def _create(engine: Engine) -> None:
    """Creates the tables that the migrations lead to, in a fifth of their time."""
    with engine.begin() as connection:
        tables.metadata.create_all(connection, checkfirst=False)
        _VERSION.create(connection)
        connection.execute(_VERSION.insert().values(version_num=HEAD))


def migrate(engine: Engine) -> None:
    """Runs the missing migrations, each in one transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
