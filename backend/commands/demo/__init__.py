"""The command `minga demo` and the processes that it starts.

These are the demo's own child processes: a server, a peer and headless volunteers.
"""
