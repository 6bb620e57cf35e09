"""The command `minga demo` and the processes that it starts.

Only the demo's own children live here: a server, a peer and headless volunteers.
"""
