"""The state machine of work units: scheduler, transitioner and their tables (decision 0048).

It is pure: events in, effects out. Sockets, clock, randomness and vectors belong to its host
(`server/units`).
"""
