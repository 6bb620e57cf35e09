"""Sockets and HTTP below the handlers: limits, headers, zero-copy files, slow and hostile clients.

Nothing here knows what a task is, but for `task_socket`.
"""
