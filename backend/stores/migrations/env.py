"""Runs the migrations for alembic, each in its own transaction, so that a killed one starts over."""

from __future__ import annotations

from alembic import context

from backend.stores import tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=tables.metadata,
    # SQLite can alter tables within transactions once the driver is configured (backend/stores/sqlite.py).
    transactional_ddl=True,
    transaction_per_migration=True,
    render_as_batch=True,
)
context.run_migrations()
