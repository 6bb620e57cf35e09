"""Finds the network address by which the visitor of a connection is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

from backend.settings import Network

Address: TypeAlias = IPv4Address | IPv6Address

# The address of connections whose origin the system does not report.
UNKNOWN: Address = IPv4Address(0)
# One household or phone gets a prefix of this length (RFC 6177), and may use any address in it.
IPV6_PREFIX = 64
# A header longer than this names more proxies than there are.
MAX_FORWARDED = 20


def read_address(text: str) -> Address | None:
    """Parses an address from a system or a proxy, with or without port and zone; None if invalid."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def visitor(peer: Address, forwarded: Iterable[str], trusted: Sequence[Network]) -> Address:
    """Returns the client's address: `peer`, or the last untrusted address in `forwarded` behind a proxy.

    `forwarded` are the values of X-Forwarded-For. Each proxy appends the address its request came from, so
    anything left of the last untrusted address may be forged.
    """
    if not is_trusted(peer, trusted):
        return peer
    sender = peer
    for text in reversed(",".join(forwarded).rsplit(",", MAX_FORWARDED)):
        address = read_address(text)
        if address is None:
            break
        sender = address
        if not is_trusted(address, trusted):
            break
    return sender


def is_trusted(address: Address, trusted: Sequence[Network]) -> bool:
    """Whether X-Forwarded-For from `address` is trusted."""
    return any(address in network for network in trusted)


def household(address: Address) -> str:
    """Returns the key under which visitors are counted: an IPv4 address, or a /64 of IPv6."""
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Network((int(address) >> IPV6_PREFIX << IPV6_PREFIX, IPV6_PREFIX)))
