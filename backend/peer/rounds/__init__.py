"""A peer's part in federated rounds: its session, and its part in masked ones.

The decisions are in `protocols.client` and `protocols.secagg`; here they are carried out.
"""
