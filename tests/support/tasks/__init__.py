"""Tasks, models and data small enough to be made on the spot."""
