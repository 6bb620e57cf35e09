"""Simulates groups that average in a network."""
