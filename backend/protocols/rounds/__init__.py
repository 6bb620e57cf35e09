"""Synchronous federated rounds: cohorts, deadlines, evaluation, stop rules.

`federated` is the machine of a server that averages; `base` is shared with the mesh's coordinator.
"""
