"""Builds docs/ into the pages that a server shows at /docs.

`minga build` uses this package; no server runs its code.
"""
