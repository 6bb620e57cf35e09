"""The JSON interface of tasks, and bytes by their address.

Drafts and accounts have folders of their own.
"""
