"""Measures roads: how many files of the backend a flow runs through, in a real server with real sockets.

`traced_server` is `minga serve` that writes down which files' functions run between two signals, `flows` are
the clients, `command` prints the counts.
"""
