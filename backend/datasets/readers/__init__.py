"""Readers of images, recordings, tables, texts and arrays, which yield examples in chunks.

A reader returns stored values of examples; it neither cuts shards nor proposes a preprocessing.
"""
