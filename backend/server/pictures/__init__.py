"""Pictures of tasks: drawn from examples that are public anyway, or uploaded by the owner.

The pattern that is woven from a task's name needs neither: web/pages/task_picture.py.
"""
