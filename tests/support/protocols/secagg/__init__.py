"""Servers and members of masked rounds with real keys, shares and masks, but without sockets and clocks."""
