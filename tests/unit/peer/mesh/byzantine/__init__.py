"""A peer of a Byzantine mesh, without links."""
