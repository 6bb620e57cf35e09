"""Observers of task events: the log, metrics, owners' hooks.

Observers never change a task.
"""
