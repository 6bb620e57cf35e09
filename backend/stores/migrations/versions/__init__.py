"""One schema migration per file, in the order of their numbers."""
