"""Starlette: composition root, pages, API and sockets."""
