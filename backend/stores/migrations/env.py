"""What alembic runs: every migration is a transaction of its own, so that a killed one begins anew."""

from __future__ import annotations

from alembic import context

from backend.stores import tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=tables.metadata,
    # SQLite changes tables within transactions too, once the driver lets it (backend/stores/sqlite.py).
    transactional_ddl=True,
    transaction_per_migration=True,
    render_as_batch=True,
)
context.run_migrations()
