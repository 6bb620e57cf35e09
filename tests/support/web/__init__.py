"""Runs a server in its own process, and clients that talk to it."""
