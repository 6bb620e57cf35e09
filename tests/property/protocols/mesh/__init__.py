"""Seeded schedules of the all-reduce and of the mesh coordinator."""
