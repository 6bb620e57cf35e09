"""Who repeats a work unit, and what results that differ mean.

Draws of comparisons and of the clients that repeat a unit, and the weighing of verdicts; no states of units.
"""
