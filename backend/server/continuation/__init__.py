"""Continues tasks after their end or under another plan: extensions, earlier versions, forks.

The hosts and their machines know nothing of it: a task gets a new host between two rounds.
"""
