"""Dry runs of a draft: the files that a browser needs, and what browsers told.

The server's own step is in `server.sandbox.dry_run`.
"""
