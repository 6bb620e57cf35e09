"""Serves the JSON API of tasks, and blobs by their address.

Drafts and accounts have their own folders.
"""
