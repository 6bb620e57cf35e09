"""Pure functions on flat float32 vectors."""
