"""How the records of older versions become today's; alembic runs these, each whole or not at all."""
