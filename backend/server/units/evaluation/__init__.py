"""Which weights of a task of work units are evaluated on held-out shards, and how.

Evaluation runs beside the units and never holds them up.
"""
