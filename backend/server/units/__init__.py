"""The server's side of work units: one host a task, around the scheduler of `protocols.units`.

Events enter by the host's mailbox, effects leave by the effect runner. The state has one owner a part
(`state.py`). Sockets, pages and stores are elsewhere.
"""
