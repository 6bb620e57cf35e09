"""Readers of images, tables, texts and arrays, row by row.

A reader gives stored values of examples; it neither cuts shards nor proposes a preprocessing.
"""
