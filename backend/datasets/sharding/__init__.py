"""Cuts data sets into shards with their index.

All code that writes shards belongs here; `formats` defines the format of a shard.
"""
