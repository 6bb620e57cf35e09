"""Finds local addresses that are proxies which the operator did not name: their clients may be anybody."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from ipaddress import ip_address

import structlog

from backend.protocols.client.household import is_local
from backend.settings import Network
from backend.web.transport.client_address import Address, is_trusted

log = structlog.stdlib.get_logger("minga.doors")

# Headers that proxies add, and clients of an honest network do not.
PROXY_HEADERS = (b"x-forwarded-for", b"forwarded", b"x-real-ip", b"via")
# Names that lead to a server only from its own machine or site (RFC 6761, 6762, 8375; ICANN 2024).
LOCAL_SUFFIXES = (".localhost", ".local", ".lan", ".home.arpa", ".internal")
# Proxies that are remembered; the one longest without a request from elsewhere is forgotten first.
MAX_PROXIES = 1000

Headers = Sequence[tuple[bytes, bytes]]


class UnnamedProxies:
    """Remembers local addresses, not `trusted` as proxies, from which requests of elsewhere came.

    A proxy may pass on what its clients write, so a single request does not show that it is local. Its
    address counts as a proxy from the first request on that was meant for another name than a local one.
    """

    def __init__(self, trusted: Sequence[Network]) -> None:
        self._trusted = trusted
        self._proxies: OrderedDict[Address, None] = OrderedDict()
        self._warned: set[bool] = set()

    def __contains__(self, peer: Address | None) -> bool:
        return peer in self._proxies

    def observe(self, peer: Address, headers: Headers) -> None:
        """Takes the headers of a request that came from `peer`, with names in lower case."""
        if is_trusted(peer, self._trusted):
            return
        forwarded = any(name in PROXY_HEADERS for name, _ in headers)
        if not is_local(str(peer)):
            # Anybody may send these headers: they say nothing of a public address, which is one household.
            if forwarded:
                self._warn(peer, local=False)
        elif forwarded or not all(is_local_host(value) for name, value in headers if name == b"host"):
            self._proxies[peer] = None
            self._proxies.move_to_end(peer)
            if len(self._proxies) > MAX_PROXIES:
                self._proxies.popitem(last=False)
            self._warn(peer, local=True)

    def _warn(self, peer: Address, local: bool) -> None:
        if local not in self._warned:
            self._warned.add(local)
            log.warning(
                "Requests come through a proxy that is not in MINGA_TRUSTED_PROXIES: all its visitors share "
                "one address's limits and count as one household. Name it, and have it add X-Forwarded-For.",
                proxy=str(peer),
            )


def is_local_host(value: bytes) -> bool:
    """Whether a Host header has a name or address that only this machine and its site know."""
    host = value.decode("latin-1").strip().lower()
    host = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    try:
        ip_address(host)
    except ValueError:
        name = host.rstrip(".")
        return "." not in name or name.endswith(LOCAL_SUFFIXES)
    return is_local(host)
