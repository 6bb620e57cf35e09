"""Checks whether results of the same work unit agree, within measured tolerances.

Which results are compared is decided in `protocols.units`.
"""
