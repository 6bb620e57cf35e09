"""What owners and clients are told of a task's work units.

Read from the host's state; nothing here changes it.
"""
