"""Serves HTTP with Starlette: composition root, pages, API and sockets."""
