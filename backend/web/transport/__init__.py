"""Transports HTTP and sockets below the handlers: limits, headers, zero-copy files, hostile clients.

Only `task_socket` may know what a task is.
"""
