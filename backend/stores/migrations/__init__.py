"""Migrations from older schemas to the current one; alembic runs each in one transaction."""
