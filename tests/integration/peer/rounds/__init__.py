"""Peers in rounds, open and masked, against a real server."""
