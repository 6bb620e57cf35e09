"""A task as it lies in its folder, checked, and what pages say of it.

Nothing here runs a task: that is hosting/.
"""
