"""Hosts tasks of every scheme: mailbox, timers, admission, registry, lifecycle.

Code that only one scheme needs lives in rounds/, mesh/ or units/.
"""
