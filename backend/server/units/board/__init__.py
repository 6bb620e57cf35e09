"""The boards of work units for owners and clients, and the scores of results.

Read from the host's state; nothing here changes it.
"""
