"""Groups clients by household: what one person can easily get many of counts as one."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

# Providers give a customer a /48 of IPv6 at most (RFC 6177), and addresses of a /24 of IPv4 together.
IPV4_PREFIX, IPV6_PREFIX = 24, 48
# Networks of the server's own machine and site (RFC 1918, 3927, 4193, 4291): nobody outside sends from them.
_LOCAL = tuple(
    [IPv4Network(text) for text in ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12")]
    + [IPv4Network("192.168.0.0/16")]
)
_LOCAL_IPV6 = tuple(IPv6Network(text) for text in ("::1/128", "fc00::/7", "fe80::/10"))


class Household(NamedTuple):
    """Clients whose agreement proves nothing: a `network`, or a client in it with an `identity`.

    An identity is an account, an invitation, or the client itself where many people share a network. Devices
    that one `volunteer` linked are one person's, too; "" is none. A link only joins households: anybody can
    make keys, so that two volunteers of one network are no two households.
    """

    network: str
    identity: str = ""
    volunteer: str = ""

    @property
    def key(self) -> str:
        """The text by which its clients are counted together."""
        return self.identity or self.network


# Of clients that were not here since the server's start.
ABSENT = Household("")


def by_itself(client: str) -> Household:
    """Returns the household of a single client, whatever its network."""
    return Household("", client)


def same_household(one: Household, other: Household) -> bool:
    """Whether two clients may be one person.

    They are of one volunteer or one identity, or of one network with at most one identity.

    A client with an identity can also connect without it.
    """
    if one.volunteer and one.volunteer == other.volunteer:
        return True
    if one.identity and other.identity:
        return one.identity == other.identity
    return one.network == other.network


def network_of(address: str) -> str:
    """Returns the network that `address` counts for, such as "192.0.2.0/24" or "2001:db8::/48".

    An IPv6 address that has an IPv4 address within it (mapped, 6to4 or Teredo) counts as that: each IPv4
    address has its own /48 there. Returns "" for invalid addresses.
    """
    parsed = _parse(address)
    if parsed is None:
        return ""
    if isinstance(parsed, IPv6Address):
        parsed = parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else parsed)
    if isinstance(parsed, IPv4Address):
        return str(IPv4Network((parsed, IPV4_PREFIX), strict=False))
    return str(IPv6Network((parsed, IPV6_PREFIX), strict=False))


def is_local(address: str) -> bool:
    """Whether `address` belongs to the server's own machine or site, where one network is many people."""
    parsed = _parse(address)
    if isinstance(parsed, IPv4Address):
        return any(parsed in network for network in _LOCAL)
    return parsed is not None and any(parsed in network for network in _LOCAL_IPV6)


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped
    return parsed
