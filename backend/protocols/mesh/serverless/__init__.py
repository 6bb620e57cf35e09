"""Runs rounds of a mesh while its server is away: who leads, what the last certified round allows.

The host of these machines is `peer.mesh`.
"""
