"""Reads and preprocesses data sets of owners and volunteers, and cuts them into shards.

The readers (images.py, recordings.py, tables.py, texts.py, arrays.py) fit a declared preprocessing and yield
stored arrays in chunks; dataset.py chooses the reader. sharding/array_store.py keeps the arrays on disk, and
cut.py partitions them into shards.
"""
