"""Secure aggregation (Bonawitz et al. 2017): two machines without I/O, the server's and a member's.

server*.py and client_slots.py are the server's, member*.py the member's (mirrored in TypeScript); terms.py is
shared. Keys, shares and masks are computed in `crypto`, encodings in `numerics.masking`; sockets are hosts'.
"""
