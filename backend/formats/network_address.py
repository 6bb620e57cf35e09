"""Says which network addresses a program may connect to when a stranger names them.

An address that other people chose could lead into this machine's own network (SSRF): only public addresses
are connected to, unless the task or the person at this machine allows more. Names are resolved once, all of
their addresses must be allowed, and the connection uses one of them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Literal

# How far a stranger's address may lead: the internet, also a local network, also this machine itself.
Reach = Literal["public", "lan", "host"]

_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
_UNICAST = ipaddress.ip_network("2000::/3")
# Public by their registries or in Python's tables, but translated to an address within them, forwarded by
# relays, or of a protocol's own machines (192.0.0.0/24, RFC 6890: DS-Lite, NAT64 discovery).
_TRANSLATED = [
    ipaddress.ip_network(network)
    for network in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]
_LOCAL = [
    ipaddress.ip_network(network)
    for network in ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
]


def is_ip(host: str) -> bool:
    """Whether a host is an IP address, not a name."""
    return _parsed(host) is not None


def is_public(address: str) -> bool:
    """Whether this IP address is one of the internet, and of no machine in between.

    IPv6 addresses that hold an IPv4 address are none, whatever that is: mapped (::ffff:0:0/96), compatible
    (::/96), translated (64:ff9b::/96) and 6to4 (2002::/16).
    """
    ip = _parsed(address)
    if ip is None or not ip.is_global or ip.is_multicast or ip.is_reserved:
        return False
    return (ip.version == 4 or ip in _UNICAST) and not _is_in(ip, _TRANSLATED)


def is_allowed(address: str, reach: Reach) -> bool:
    """Whether a stranger's address may be connected to."""
    ip = _parsed(address)
    if ip is None:
        return False
    if reach == "host" and ip.is_loopback:
        return True
    return is_public(address) or (reach != "public" and _is_in(ip, _LOCAL))


def refused_address(addresses: Iterable[str], reach: Reach) -> str | None:
    """Returns the first of a host's resolved addresses that is not allowed; None if all are.

    One is enough to refuse the host: which one of them another program would use is not known.
    """
    return next((address for address in addresses if not is_allowed(address, reach)), None)


def reach_of(host: str) -> Reach:
    """Returns the reach of addresses that a server with this host may name: that of the host itself.

    Names other than localhost do not count, since their owner chooses the addresses.
    """
    ip = _parsed(host)
    if host == "localhost" or (ip is not None and ip.is_loopback):
        return "host"
    return "lan" if ip is not None and _is_in(ip, _LOCAL) else "public"


def _parsed(address: str) -> _Ip | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None


def _is_in(ip: _Ip, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    return any(ip in network for network in networks)
