"""Runs parameter servers, which assimilate results into the model, in memory or a database.

The stores themselves are in `stores.parameters`.
"""
