"""Peers with known updates in masked rounds, and what a server can make of what it receives."""
