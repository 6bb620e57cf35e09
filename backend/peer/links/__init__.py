"""Links to other peers of a mesh: docs/reference/mesh.md, "Links"."""
