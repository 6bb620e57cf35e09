"""Seeded schedules and dropouts of secure aggregation."""
