"""Sockets and HTTP at their edges: addresses, limits, hostile and slow connections."""
