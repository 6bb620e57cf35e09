"""Golden conversations and numbers of a mesh: all-reduce, members, links, certificates."""
