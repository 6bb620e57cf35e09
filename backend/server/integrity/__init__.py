"""Checks versions for signs of a backdoor: measures them in the sandbox, and gates what is offered.

Scores and verdicts are computed in `numerics.integrity`; what is offered is decided in `server.versions`.
"""
