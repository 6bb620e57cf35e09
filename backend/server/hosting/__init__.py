"""Hosting of tasks, whatever their scheme: mailbox, timers, admission, registry, lifecycle.

What only one scheme needs lives in rounds/, mesh/ or units/.
"""
