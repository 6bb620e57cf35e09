"""The host of a task in federated rounds.

The machine is `protocols.rounds.federated`; the host performs its effects.
"""
