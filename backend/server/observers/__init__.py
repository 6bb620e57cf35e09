"""What happens to tasks, and who is told: the log, metrics, hooks of owners.

Observers never change a task.
"""
