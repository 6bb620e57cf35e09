"""Handles accounts over HTTP: sign-in, cookies, invitations and permissions.

`server.accounts` has the rules.
"""
