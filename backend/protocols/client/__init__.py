"""Machines of clients: the participant of rounds, and the client of work units.

Their mirrors in TypeScript are bound by the golden conversations in tests/contract/vectors.
"""
