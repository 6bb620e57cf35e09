"""Averages a vector in a group of peers: reduce-scatter, all-gather, and members that leave.

One machine, `member`; the host that moves the bytes is `peer.mesh`.
"""
