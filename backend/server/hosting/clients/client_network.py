"""Tells from which network a client comes, and where one network is many people."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network

from backend.protocols.client.household import is_local, network_of
from backend.server.hosting.clients.client_link import ClientLink

# The network of all clients whose address nobody knows, such as those of a proxy that nobody named.
UNKNOWN = "unknown"


def client_network(link: ClientLink) -> str:
    """Returns the network that a client counts for, which is UNKNOWN for all clients without one."""
    return UNKNOWN if link.is_unnamed_proxy else network_of(link.address) or UNKNOWN


def is_many_people(link: ClientLink, named: Iterable[str]) -> bool:
    """Whether each client there is by itself: in networks that the owner `named`, and in the server's own."""
    try:
        address = ip_address(link.address.partition("%")[0])
    except ValueError:
        return False
    if any(address in ip_network(text) for text in named):
        return True
    return is_local(link.address) and not link.is_unnamed_proxy
