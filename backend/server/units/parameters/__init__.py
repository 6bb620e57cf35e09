"""Parameter servers: results are assimilated into the model, in order, in memory or a database.

The stores themselves are `stores.parameters`.
"""
