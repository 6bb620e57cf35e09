"""Accounts over HTTP: signing in, cookies, invitations, who may do what.

The rules are in `server.accounts`.
"""
