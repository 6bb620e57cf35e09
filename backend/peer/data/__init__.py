"""A peer's examples, from the server's shards, from URLs or from local files: fetched and checked.

No module of this package trains.
"""
