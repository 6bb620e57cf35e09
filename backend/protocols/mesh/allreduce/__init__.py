"""A group of peers averages a vector: reduce-scatter, all-gather, and members that leave.

One machine, `member`; the host that moves the bytes is `peer.mesh`.
"""
