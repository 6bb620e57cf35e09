"""Limits connections in total and per visitor, and how often a visitor may join or send requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from backend.errors import BusyError, MingaError, TooFastError
from backend.protocols.token_bucket import Rate, TokenBuckets
from backend.settings import Network, ServerLimits
from backend.web.transport.client_address import UNKNOWN, Address, household, is_trusted, visitor
from backend.web.transport.unnamed_proxies import Headers, UnnamedProxies

# The number of visitors whose last joins are remembered; each takes a number and a short text.
MAX_REMEMBERED = 20_000
# Connections over a limit that are kept open to receive the reason; more are dropped without one.
MAX_REJECTED = 64
# The burst that a client's rate of frames or pings allows, in seconds of that rate.
BURST_SECONDS = 10


class ConnectionLimiter:
    """Owns the counts of all connections. `clock` returns monotonic seconds."""

    def __init__(self, limits: ServerLimits, trusted: Sequence[Network], clock: Callable[[], float]) -> None:
        self.limits = limits
        self.frames = _rate(limits.frames_per_second)
        self.pings = _rate(limits.pings_per_second)
        self.unnamed_proxies = UnnamedProxies(trusted)
        self._trusted = trusted
        self._clock = clock
        self._by_visitor: Counter[str] = Counter()
        self._accepted = 0
        self._rejected = 0
        self._joins = _rates(limits.joins_per_minute)
        self._requests = _rates(limits.requests_per_minute)

    def enter(self, peer: Address) -> ConnectionSlot:
        """Registers a connection from `peer`, which counts until its slot ends."""
        return ConnectionSlot(self, peer)

    # For ConnectionSlot.

    def address_of(self, peer: Address, forwarded: Sequence[str]) -> Address | None:
        """Returns the address of the client behind `peer`; None while a trusted proxy has not named it."""
        if not is_trusted(peer, self._trusted):
            return peer
        return visitor(peer, forwarded, self._trusted) if forwarded else None

    def is_known(self, address: Address | None) -> bool:
        """Whether `address` is a client's: where a trusted proxy names no other, it may be anybody's."""
        return address not in (None, UNKNOWN) and not is_trusted(address, self._trusted)

    def admit(self, visitor: str | None) -> MingaError | None:
        """Counts one more connection. Returns the reason if it is over a limit and counts as rejected."""
        refusal: MingaError | None
        if self._accepted < self.limits.max_connections:
            refusal = self.admit_visitor(visitor)
        else:
            refusal = BusyError("This server has as many connections as it can hold. Try again in a minute.")
        if refusal is None:
            self._accepted += 1
        else:
            self._rejected += 1
        return refusal

    def dismiss(self, rejected: bool) -> None:
        """Removes a connection, accepted or `rejected`, from the counts."""
        if rejected:
            self._rejected -= 1
        else:
            self._accepted -= 1

    def admit_visitor(self, visitor: str | None) -> MingaError | None:
        """Counts one more connection of `visitor`. Returns the reason if it is over the limit."""
        maximum = self.limits.max_connections_per_address
        if visitor is None:
            return None
        if self._by_visitor[visitor] < maximum:
            self._by_visitor[visitor] += 1
            return None
        return BusyError(
            f"{maximum} connections already come from your network address, the limit here. Close some "
            f"pages, or try again in a minute."
        )

    def dismiss_visitor(self, visitor: str | None) -> None:
        """Removes a connection of `visitor` that ended, or now carries another visitor's requests."""
        if visitor is not None:
            self._by_visitor[visitor] -= 1
            if not self._by_visitor[visitor]:
                del self._by_visitor[visitor]

    def join(self, visitor: str | None) -> MingaError | None:
        """Counts a socket that `visitor` opens. Returns the reason if it is over the limit."""
        if visitor is None or self._joins.spend(visitor, self._clock()):
            return None
        return TooFastError(
            "Connections to this server come too fast from your network address; "
            f"{self.limits.joins_per_minute} a minute may. Wait a minute."
        )

    def request(self, visitor: str | None) -> MingaError | None:
        """Counts a request of `visitor`. Returns the reason if it is over the limit."""
        if visitor is None or self._requests.spend(visitor, self._clock()):
            return None
        return TooFastError(
            "Requests to this server come too fast from your network address; "
            f"{self.limits.requests_per_minute} a minute may. Wait a minute."
        )

    @property
    def rejects_silently(self) -> bool:
        """Whether more than MAX_REJECTED connections wait for their reason, so that more get none."""
        return self._rejected > MAX_REJECTED


class ConnectionSlot:
    """The slot of one connection, from its first byte on.

    `refusal` is why the connection, or its last request, is rejected. With `drop_silently`, it is closed
    without sending the reason.
    """

    def __init__(self, limiter: ConnectionLimiter, peer: Address) -> None:
        self.limiter = limiter
        self._peer = peer
        self._address = limiter.address_of(peer, ())
        self._visitor = household(self._address) if self._address else None
        self.refusal = limiter.admit(self._visitor)
        self._rejected = self.refusal is not None
        self.drop_silently = self._rejected and limiter.rejects_silently
        self._ended = False

    @property
    def address(self) -> str:
        """The client's network address; "" while a trusted proxy has not named it, or the system does not."""
        return str(self._address) if self.limiter.is_known(self._address) else ""

    @property
    def is_unnamed_proxy(self) -> bool:
        """Whether the address is that of a proxy which the operator did not name."""
        return self._address in self.limiter.unnamed_proxies

    def set_headers(self, headers: Headers) -> None:
        """Counts a request by its X-Forwarded-For values, as a proxy's connection carries many visitors'."""
        if self._rejected:
            return
        self.limiter.unnamed_proxies.observe(self._peer, headers)
        forwarded = [value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for"]
        self._address = self.limiter.address_of(self._peer, forwarded)
        visitor = household(self._address) if self._address else None
        self.refusal = None
        if visitor != self._visitor:
            self.limiter.dismiss_visitor(self._visitor)
            self.refusal = self.limiter.admit_visitor(visitor)
            self._visitor = visitor if self.refusal is None else None
        self.refusal = self.refusal or self.limiter.request(self._visitor)

    def join(self) -> MingaError | None:
        """Counts the connection as a socket. Returns the reason if it may not become one."""
        return self.refusal or self.limiter.join(self._visitor)

    def end(self) -> None:
        """Removes the connection from the counts."""
        if not self._ended:
            self._ended = True
            if not self._rejected:
                self.limiter.dismiss_visitor(self._visitor)
            self.limiter.dismiss(self._rejected)


def _rate(per_second: int) -> Rate:
    return Rate(per_second, BURST_SECONDS * per_second)


def _rates(per_minute: int) -> TokenBuckets:
    """Returns buckets that allow bursts of one minute's rate."""
    return TokenBuckets(Rate(per_minute / 60, per_minute), MAX_REMEMBERED)
