"""Connects a peer with the other peers of its mesh: docs/reference/mesh.md, "Links"."""
