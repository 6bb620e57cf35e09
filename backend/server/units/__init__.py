"""Hosts tasks of work units: one host per task, around the scheduler of `protocols.units`.

Events enter through the host's mailbox, and the effect runner performs the effects. Each part of the state
has one owner (`state.py`). Sockets, pages and stores live in other packages.
"""
