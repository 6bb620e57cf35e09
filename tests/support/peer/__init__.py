"""Peers in their own processes or on real links, and recorders of their traffic."""
