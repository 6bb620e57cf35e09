"""Weighs a comparison: what the verdicts mean, given who took part in it (decision 0059)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from backend.protocols.units.records import Lease, UnitRecord, are_blind
from backend.protocols.units.rules import Verdict
from backend.protocols.units.scheduler_effects import ClientId, LeaseId


@dataclass(frozen=True)
class Weighed:
    """The `verdicts` that count; clients that were `outvoted` by strangers.

    Agreement with one of the `vouchers`, which are leases, raises trust.
    """

    verdicts: Mapping[LeaseId, Verdict]
    outvoted: Sequence[ClientId]
    vouchers: frozenset[LeaseId]


def weigh(
    unit: UnitRecord,
    verdicts: Mapping[LeaseId, Verdict],
    lease_of: Callable[[LeaseId], Lease],
    vouches: Callable[[Lease], bool],
) -> Weighed:
    """Returns what verdicts mean. `vouches` says whether agreement with a valid result raises trust.

    Only a trusted peer's result shows that another one is wrong. Where strangers disagree, a result counts if
    others agree with it blindly, and an outvoted one stays undecided.
    """
    leases = [lease_of(one) for one in verdicts]
    before = None if unit.valid is None else lease_of(unit.valid)
    weighed, outvoted = dict(verdicts), []
    valid = [one for one in leases if verdicts[one.id] is Verdict.VALID]
    if not any(one.by_trusted_peer for one in (*valid, *_present(before))):
        split = Verdict.INVALID in verdicts.values() or Verdict.UNDECIDED in verdicts.values()
        known = split and before is None and len(valid) > 1 and not are_blind(valid)
        decided = unit.proven if before is not None else len(valid) > 1 and not known
        doubtful = (Verdict.INVALID, Verdict.VALID) if known else (Verdict.INVALID,)
        for lease in leases:
            if verdicts[lease.id] in doubtful:
                weighed[lease.id] = Verdict.UNDECIDED
                outvoted += [lease.client] if decided else []
    agreed = [one for one in leases if weighed[one.id] is Verdict.VALID]
    vouchers = frozenset(one.id for one in (*agreed, *_present(before)) if vouches(one))
    return Weighed(weighed, outvoted, vouchers)


def _present(lease: Lease | None) -> tuple[Lease, ...]:
    return () if lease is None else (lease,)
