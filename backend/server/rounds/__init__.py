"""The host of a task in federated rounds.

The machine is `protocols.rounds.federated`; here its effects are carried out.
"""
