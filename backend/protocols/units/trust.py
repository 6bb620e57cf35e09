"""Trust in clients: pure functions of a client's level and of the comparisons of its results.

As in BOINC's adaptive replication (Anderson 2020, "BOINC: A Platform for Volunteer Computing"): trust grows
with results that a comparison found valid, and ends with an invalid one. Being late costs no trust: a browser
may be throttled or closed.
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from backend.protocols.units.rules import TrustRules

DAY_SECONDS = 86_400.0


# A Struct: it is replaced three times a result, which takes 25 times as long with a dataclass.
class TrustLevel(Struct, frozen=True):
    """One client with one backend: `streak` compared valid results in a row, `on_time` returns in a row.

    `quota` leases are allowed a day, `today` were given on the day `day`.
    """

    quota: int
    streak: int = field(default=0, name="held")
    on_time: int = 0
    day: int = 0
    today: int = 0


def newcomer(rules: TrustRules) -> TrustLevel:
    """Returns the trust in a new client."""
    return TrustLevel(rules.quota)


def must_replicate(trust: TrustLevel, rules: TrustRules, chance: float) -> bool:
    """Whether another client is to repeat the unit; `chance` is drawn from [0, 1).

    Always below `proven` valid results, then one in `streak`.
    """
    return trust.streak < rules.proven or chance < 1.0 / trust.streak


def must_check(rules: TrustRules, chance: float) -> bool:
    """Whether a trusted peer is to repeat the unit; `chance` may be that of `must_replicate`."""
    return chance >= 1.0 - rules.spot_checks


def is_reliable(trust: TrustLevel, rules: TrustRules) -> bool:
    """Whether its results held and came in time: for the last units of an epoch, on which all wait."""
    return min(trust.streak, trust.on_time) >= rules.proven


def may_lease(trust: TrustLevel, now: float) -> bool:
    """Whether its quota of the day is not used up."""
    return trust.day != _day(now) or trust.today < trust.quota


def after_lease(trust: TrustLevel, now: float) -> TrustLevel:
    """After one lease more."""
    day = _day(now)
    return replace(trust, day=day, today=trust.today + 1 if trust.day == day else 1)


def after_return(trust: TrustLevel, in_time: bool) -> TrustLevel:
    """After a result arrived, or did not in time."""
    return replace(trust, on_time=trust.on_time + 1 if in_time else 0)


def after_valid(trust: TrustLevel, rules: TrustRules, compared: bool) -> TrustLevel:
    """After a result was valid; it proves something only where it was `compared` with another's."""
    return replace(trust, streak=trust.streak + compared, quota=min(rules.quota, 2 * trust.quota))


def after_invalid(trust: TrustLevel) -> TrustLevel:
    """After a result was invalid: trusted no more, and half the leases a day, but one."""
    return replace(trust, streak=0, quota=max(1, trust.quota // 2))


def with_kind(before: TrustLevel, known: TrustLevel) -> TrustLevel:
    """Trust `known` of a client with another kind; the quota is the client's, whatever it computes with."""
    return replace(known, quota=min(before.quota, known.quota), day=before.day, today=before.today)


def left_today(trust: TrustLevel, now: float) -> int:
    """How many leases it may still have today."""
    return max(0, trust.quota - (trust.today if trust.day == _day(now) else 0))


def next_day(now: float) -> float:
    """When the quota is a new one."""
    return (_day(now) + 1) * DAY_SECONDS


def _day(now: float) -> int:
    return int(now // DAY_SECONDS)
