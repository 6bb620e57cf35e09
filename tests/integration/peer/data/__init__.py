"""A peer's data: local files, files at a URL, and the blob cache."""
