"""The versions of a task's model: history, lineage, retention, evaluation, checkpoints.

The vectors themselves lie in `stores`.
"""
