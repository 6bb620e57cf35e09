"""Secure aggregation (Bonawitz et al. 2017): the server's machine and a member's.

Stages, neighbours, refusals and terms; keys and masks are made in `crypto`.
"""
