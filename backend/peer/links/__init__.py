"""Links to other peers of a mesh: docs/decisions/0025-mesh.md, "Links"."""
