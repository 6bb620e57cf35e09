"""A peer's federated rounds: its session, and its part in masked rounds.

`protocols.client` and `protocols.secagg` make the decisions; this package performs them.
"""
