"""Clients of work units for the chaos benchmark: honest, late, killed or cheating."""
