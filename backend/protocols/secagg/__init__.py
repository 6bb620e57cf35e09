"""Secure aggregation (Bonawitz et al. 2017): the server's machine and a member's, without I/O.

server*.py and client_slots.py belong to the server, member*.py to the member (with twins in TypeScript);
terms.py is shared. Keys, shares and masks are computed in `crypto`, encodings in `numerics.masking`; sockets
belong to the hosts.
"""
