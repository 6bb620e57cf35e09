"""Robust aggregation of updates: rules that hold while at most f of n updates are false.

`table.py` lists all rules with their tolerance; `composition.py` chains them. Pure functions on updates [n,
size] that are only read: what chooses a rule, or where updates are kept, lives in the server.
"""
