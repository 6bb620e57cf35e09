"""Manages dry runs of a draft in browsers: the files that a browser needs, and browsers' reports.

The server's own step is in `server.sandbox.dry_run`.
"""
