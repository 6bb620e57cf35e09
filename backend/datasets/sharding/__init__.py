"""A data set cut into shards with their index.

Everything that writes shards lives here; the form of one shard is fixed in `formats`.
"""
