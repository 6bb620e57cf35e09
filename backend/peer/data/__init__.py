"""Where a peer's examples come from: the server's shards, an address, or files of its own.

Fetched, checked and cached here; nothing here trains.
"""
