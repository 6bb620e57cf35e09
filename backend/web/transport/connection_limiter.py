"""Who is let in: connections in all and of one visitor, and how often a visitor may join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import structlog

from backend.errors import BusyError, MingaError, TooFastError
from backend.protocols.token_bucket import Rate, TokenBuckets
from backend.settings import Network, ServerLimits
from backend.web.transport.client_address import Address, household, is_trusted, visitor

log = structlog.stdlib.get_logger("minga.doors")

# Visitors whose last joins are remembered; a number and a short text each.
MAX_REMEMBERED = 20_000
# Connections that are over a limit and wait for their sentence; more are dropped without one.
MAX_TOLD = 64
# A client may be ahead of its rate of frames or pings by so much.
BURST_SECONDS = 10


class ConnectionLimiter:
    """Owns the counts of everybody who is connected. `clock` gives seconds; it is never set back."""

    def __init__(self, limits: ServerLimits, trusted: Sequence[Network], clock: Callable[[], float]) -> None:
        self.limits = limits
        self.frames = _rate(limits.frames_per_second)
        self.pings = _rate(limits.pings_per_second)
        self._trusted = trusted
        self._clock = clock
        self._inside: Counter[str] = Counter()
        self._all = 0
        self._told = 0
        self._warned = False
        self._joins = _rates(limits.joins_per_minute)
        self._requests = _rates(limits.requests_per_minute)

    def enter(self, peer: Address) -> ConnectionSlot:
        """A connection came from `peer`; it counts until its visit ends."""
        return ConnectionSlot(self, peer)

    # For visits.

    def visitor_of(self, peer: Address, forwarded: Sequence[str]) -> str | None:
        """The household for which `peer` speaks; None as long as a trusted proxy does not say."""
        if not is_trusted(peer, self._trusted):
            self._warn(peer, forwarded)
            return household(peer)
        return household(visitor(peer, forwarded, self._trusted)) if forwarded else None

    def admit(self, visitor: str | None) -> MingaError | None:
        """Counts one more connection, or says why it is too much: then it only waits to be told."""
        refusal: MingaError | None
        if self._all < self.limits.max_connections:
            refusal = self.admit_visitor(visitor)
        else:
            refusal = BusyError("This server has as many connections as it can hold. Try again in a minute.")
        if refusal is None:
            self._all += 1
        else:
            self._told += 1
        return refusal

    def dismiss(self, told: bool) -> None:
        """A connection is gone, or one that was `told` that it is too much."""
        if told:
            self._told -= 1
        else:
            self._all -= 1

    def admit_visitor(self, visitor: str | None) -> MingaError | None:
        """Counts one more connection of `visitor`, or says why it is too much."""
        most = self.limits.max_connections_per_address
        if visitor is None:
            return None
        if self._inside[visitor] < most:
            self._inside[visitor] += 1
            return None
        return BusyError(
            f"{most} connections come from your network address already, as many as one may have here. "
            "Close some pages, or try again in a minute."
        )

    def dismiss_visitor(self, visitor: str | None) -> None:
        """A connection of `visitor` is gone, or speaks for another now."""
        if visitor is not None:
            self._inside[visitor] -= 1
            if not self._inside[visitor]:
                del self._inside[visitor]

    def join(self, visitor: str | None) -> MingaError | None:
        """`visitor` opens a socket; why it may not."""
        if visitor is None or self._joins.spend(visitor, self._clock()):
            return None
        return TooFastError(
            "Connections to this server come too fast from your network address; "
            f"{self.limits.joins_per_minute} a minute may. Wait a minute."
        )

    def request(self, visitor: str | None) -> MingaError | None:
        """`visitor` asks for something; why it may not."""
        if visitor is None or self._requests.spend(visitor, self._clock()):
            return None
        return TooFastError(
            "Requests to this server come too fast from your network address; "
            f"{self.limits.requests_per_minute} a minute may. Wait a minute."
        )

    @property
    def crowded(self) -> bool:
        """Whether so many wait to be told of a refusal that no more may."""
        return self._told > MAX_TOLD

    def _warn(self, peer: Address, forwarded: Sequence[str]) -> None:
        if forwarded and not self._warned:
            self._warned = True
            log.warning(
                "Requests come through a proxy that is not in MINGA_TRUSTED_PROXIES: "
                "all its visitors share one address's limits.",
                proxy=str(peer),
            )


class ConnectionSlot:
    """One connection among all, from its first byte on.

    `refusal` is why it, or its last request, is not let in; one that is `drop_silently` is not even to be
    told.
    """

    def __init__(self, doors: ConnectionLimiter, peer: Address) -> None:
        self.doors = doors
        self._peer = peer
        self._visitor = doors.visitor_of(peer, ())
        self.refusal = doors.admit(self._visitor)
        self._told = self.refusal is not None
        self.drop_silently = self._told and doors.crowded
        self._ended = False

    def speaks_for(self, forwarded: Sequence[str]) -> None:
        """A request came with these values of X-Forwarded-For; a proxy speaks for many visitors."""
        if self._told:
            return
        visitor = self.doors.visitor_of(self._peer, forwarded)
        self.refusal = None
        if visitor != self._visitor:
            self.doors.dismiss_visitor(self._visitor)
            self.refusal = self.doors.admit_visitor(visitor)
            self._visitor = visitor if self.refusal is None else None
        self.refusal = self.refusal or self.doors.request(self._visitor)

    def join(self) -> MingaError | None:
        """The connection becomes a socket; why it may not."""
        return self.refusal or self.doors.join(self._visitor)

    def end(self) -> None:
        """The connection is gone."""
        if not self._ended:
            self._ended = True
            if not self._told:
                self.doors.dismiss_visitor(self._visitor)
            self.doors.dismiss(self._told)


def _rate(per_second: int) -> Rate:
    return Rate(per_second, BURST_SECONDS * per_second)


def _rates(per_minute: int) -> TokenBuckets:
    """A minute's worth may come at once."""
    return TokenBuckets(Rate(per_minute / 60, per_minute), MAX_REMEMBERED)
