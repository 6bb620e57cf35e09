"""Trust in clients: pure functions of a client's level and of the comparisons of its results.

As in BOINC's adaptive replication (Anderson 2020, "BOINC: A Platform for Volunteer Computing"): trust grows
with results that a comparison found valid, and ends with an invalid one. Being late costs no trust: a browser
may be throttled or closed. Decision 0059 has the reasons.
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from backend.protocols.units.rules import TrustRules

DAY_SECONDS = 86_400.0


# A Struct: it is replaced three times a result, which takes 25 times as long with a dataclass.
class TrustLevel(Struct, frozen=True):
    """One client with one backend: `streak` compared valid results in a row, `on_time` returns in a row.

    `quota` leases are allowed a day, `today` were given on the day `day`. `faults` counts results that a
    trusted peer found invalid. The next `doubts` results are compared, because others outvoted one.
    """

    quota: int
    streak: int = field(default=0, name="held")
    on_time: int = 0
    day: int = 0
    today: int = 0
    faults: int = 0
    doubts: int = 0


def newcomer(rules: TrustRules) -> TrustLevel:
    """Returns the trust in a new client."""
    return TrustLevel(rules.quota)


def is_proven(trust: TrustLevel, rules: TrustRules) -> bool:
    """Whether its results may count without a comparison: never again after a trusted peer refuted one."""
    return trust.streak >= rules.proven and not trust.faults and not trust.doubts


def is_vouched(trust: TrustLevel) -> bool:
    """Whether agreement with its results raises the trust in others: it was compared and never refuted."""
    return trust.streak > 0 and not trust.faults


def replication(trust: TrustLevel, rules: TrustRules) -> float:
    """Returns the probability with which another client repeats a unit of this one.

    It falls with the streak, so that a client that lies once it is trusted gains few lies for its work.
    """
    if not is_proven(trust, rules):
        return 1.0
    return max(rules.floor, min(1.0, rules.caution * rules.proven / trust.streak))


def must_replicate(trust: TrustLevel, rules: TrustRules, chance: float) -> bool:
    """Whether another client is to repeat the unit; `chance` is drawn from [0, 1)."""
    return chance < replication(trust, rules)


def must_check(rules: TrustRules, chance: float) -> bool:
    """Whether a trusted peer is to repeat the unit; `chance` may be that of `must_replicate`."""
    return chance >= 1.0 - rules.spot_checks


def most_unproved(trust: TrustLevel, rules: TrustRules) -> int:
    """Returns how many of its units may be in progress before it begins another.

    Otherwise a fast client could have many accepted before the first verdict.
    """
    return 1 if trust.faults else rules.unproved


def is_reliable(trust: TrustLevel, rules: TrustRules) -> bool:
    """Whether its results held and came in time: for the last units of an epoch, on which all wait."""
    return is_proven(trust, rules) and trust.on_time >= rules.proven


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
    if not compared:
        return trust
    quota = min(rules.quota, 2 * trust.quota)
    return replace(trust, streak=trust.streak + 1, quota=quota, doubts=max(0, trust.doubts - 1))


def after_doubt(trust: TrustLevel, rules: TrustRules) -> TrustLevel:
    """After others outvoted a result: that takes no trust, but its next results are compared."""
    return replace(trust, doubts=rules.proven)


def after_faulty(trust: TrustLevel) -> TrustLevel:
    """After a result was no update of the model: trusted no more, and half the leases a day, but one."""
    return replace(trust, streak=0, quota=max(1, trust.quota // 2))


def after_invalid(trust: TrustLevel) -> TrustLevel:
    """After a trusted peer refuted a result: trusted no more, and a tenth of the leases a day, but one."""
    return replace(trust, streak=0, quota=max(1, trust.quota // 10), faults=trust.faults + 1)


def with_kind(before: TrustLevel, known: TrustLevel) -> TrustLevel:
    """Trust `known` of a client with another kind; quota and faults are the client's, whatever its kind."""
    quota, faults = min(before.quota, known.quota), max(before.faults, known.faults)
    return replace(known, quota=quota, faults=faults, day=before.day, today=before.today)


def left_today(trust: TrustLevel, now: float) -> int:
    """How many leases it may still have today."""
    return max(0, trust.quota - (trust.today if trust.day == _day(now) else 0))


def next_day(now: float) -> float:
    """When the quota is a new one."""
    return (_day(now) + 1) * DAY_SECONDS


def _day(now: float) -> int:
    return int(now // DAY_SECONDS)
