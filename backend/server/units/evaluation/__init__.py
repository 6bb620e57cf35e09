"""Evaluates weights of a task of work units on its held-out shards.

Evaluation runs beside the training and never delays it.
"""
