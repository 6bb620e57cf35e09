"""The training pages of rounds, meshes and work units in a real browser."""
