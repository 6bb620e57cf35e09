"""Attacks on a federated training: factories of pure functions on updates and on training examples.

`table.py` lists all of them with what an attacker knows. Nothing here trains, or reaches a server.
"""
