"""Rounds at a real server, over real sockets."""
