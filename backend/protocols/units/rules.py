"""The scheduler's settings: leases, sizes, trust and replication; and the verdicts of a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True)
class PaceRules:
    """Seconds of a lease: `usual` for a new client, else `factor` times the client's 90th percentile.

    A lease lasts at least `least` seconds, and with renewals at most `most`. Those of a client that may be
    without a connection last longer by as much, at most by `offline`.
    """

    usual: float = 600.0
    factor: float = 2.0
    least: float = 30.0
    most: float = 7200.0
    offline: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.least <= self.usual <= self.most or self.factor < 1.0 or self.offline < 0.0:
            raise ValueError("0 < least <= usual <= most, factor is at least 1, and offline is not negative")


@dataclass(frozen=True)
class SizeRules:
    """A unit should take its client at most `seconds`; 0: units are not split.

    Halves begin at multiples of `grain` rows, which is a batch. A unit is halved at most `halvings` times,
    which bounds the cost of clients that claim to be slow.
    """

    seconds: float = 0.0
    grain: int = 1
    halvings: int = 3

    def __post_init__(self) -> None:
        if self.seconds < 0.0 or self.grain < 1 or self.halvings < 0:
            raise ValueError("seconds and halvings are not negative, and grain is at least 1")

    def allow(self, seconds: float | None) -> bool:
        """Whether a client may get a unit that takes it `seconds`; None if unknown."""
        return not self.seconds or seconds is None or seconds <= self.seconds


@dataclass(frozen=True)
class TrustRules:
    """`proven` valid results in a row make a client trusted; `quota` is the maximum of leases a day.

    A connected trusted peer repeats the fraction `spot_checks` of the units. Another client repeats those of
    a trusted client with the probability `caution * proven / streak`, never below `floor`. A client has at
    most `unproved` units that wait for a comparison. `guarded`: the task has trusted peers, so only agreement
    with them, or with clients that agreed with them, raises trust. Up to `provisional` clients may have
    results, which the model can be rid of when one of them is refuted; 0: results stay in it.
    """

    proven: int = 10
    quota: int = 1000
    spot_checks: float = 0.0
    caution: float = 1.0
    floor: float = 0.05
    unproved: int = 3
    guarded: bool = False
    provisional: int = 0

    def __post_init__(self) -> None:
        if self.provisional < 0 or (self.provisional and not self.guarded):
            raise ValueError("provisional is not negative, and 0 where no trusted peer can refute a result")
        if self.proven < 1 or self.quota < 1 or self.unproved < 1:
            raise ValueError("proven, quota and unproved are at least 1")
        if not 0.0 < self.floor <= 1.0 or self.caution <= 0.0:
            raise ValueError("floor is a share above 0, and caution is above 0")
        if not 0.0 <= self.spot_checks <= 1.0:
            raise ValueError("spot_checks is a share, from 0 to 1")


class Verdict(StrEnum):
    """The outcome of a comparison for a result.

    A FAULTY result needs none: it is not a valid update. INVALID: it differs from the accepted one; the
    transitioner decides the consequences.
    """

    VALID = "valid"
    INVALID = "invalid"
    UNDECIDED = "undecided"
    FAULTY = "faulty"


@dataclass(frozen=True)
class Rules:
    """Rules by which units are leased.

    A replicated unit has `replicas` results to be compared; after `most_leases` it is given up. The last
    fraction `last_share` of an epoch goes to reliable clients first, if there are any. Clients send
    `heartbeats` heartbeats in a lease. No client gets more than `bound` units ahead of the slowest working
    client (stale-synchronous: Ho et al. 2013); 0: no bound. `homogeneous`: results are compared among clients
    of one kind, if there are any.
    """

    replicas: int = 2
    most_leases: int = 12
    last_share: float = 0.05
    heartbeats: int = 3
    bound: int = 0
    homogeneous: bool = False
    sizes: SizeRules = field(default_factory=SizeRules)
    pace: PaceRules = field(default_factory=PaceRules)
    trust: TrustRules = field(default_factory=TrustRules)

    def __post_init__(self) -> None:
        if not 1 <= self.replicas <= self.most_leases or self.heartbeats < 1:
            raise ValueError("1 <= replicas <= most_leases, and heartbeats is at least 1")
        if self.bound < 0:
            raise ValueError("bound is not negative")
        if not 0.0 <= self.last_share <= 1.0:
            raise ValueError("last_share is a share, from 0 to 1")
