"""Runs a peer of a mesh: docs/decisions/0030-peers-of-a-mesh.md."""
