"""How work units are dealt out, and what a comparison of results can find."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from backend.protocols.units.lease_pace import PaceRules
from backend.protocols.units.trust import TrustRules
from backend.protocols.units.unit_sizes import SizeRules


class Verdict(StrEnum):
    """What a comparison found of a result."""

    VALID = "valid"
    INVALID = "invalid"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Rules:
    """How units are dealt out.

    A unit that is replicated has `replicas` results to be compared; after `most_leases` it is given up.
    The last `last_share` of an epoch goes to reliable clients first, where there are any. Clients say
    `heartbeats` times in a lease that they are still at work. Nobody gets further than `bound` units ahead
    of the slowest who is at work (stale-synchronous: Ho et al. 2013); 0: there is no bound. `homogeneous`:
    results are compared among clients of one kind, as far as there are some.
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
