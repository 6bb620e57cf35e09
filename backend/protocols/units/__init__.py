"""The machine of work units: scheduler, transitioner and their tables (decision 0048).

Pure state: events in, effects out. No sockets, clock, randomness or vectors; those are the host's
(`server/units`).
"""
