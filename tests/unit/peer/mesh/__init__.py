"""Parts of a mesh peer, without links."""
