"""Accounts for the leases of a fleet: the steps that its peers did, and what the server made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.fleet.machine import PeerLife


@dataclass(frozen=True)
class StepAccount:
    """Steps of all peers. Those without a result because their peer was killed are `lost`.

    `wasted` are all whose result is not in the model, lost ones included. `leases` is how often units were
    dealt, `units_dealt_twice` how many of them more than once. `results` are those in the model. `busy` is
    the seconds that a peer had a unit in training, by life.
    """

    steps: int
    lost: int
    wasted: int
    leases: int
    units_dealt_twice: int
    results: int
    busy: dict[int, float]


@dataclass
class _Lease:
    """Steps done for a lease, and what the server's log says of it."""

    steps: int = 0
    has_arrived: bool = False
    in_model: bool = False


@dataclass
class _Ledger:
    leases: dict[int, _Lease] = field(default_factory=dict)
    times_dealt: Counter[int] = field(default_factory=Counter)

    def of(self, lease: int) -> _Lease:
        return self.leases.setdefault(lease, _Lease())


def account(server_log: Path, lives: Iterable[PeerLife]) -> StepAccount:
    """Joins the server's log (JSON lines, level debug) with the reports of all peers."""
    ledger, busy, of_killed = _Ledger(), {}, set()
    for line in server_log.read_bytes().splitlines():
        if line.startswith(b"{"):
            _read_event(ledger, msgspec.json.decode(line))
    for life in lives:
        trained, busy[life.number] = _trained(life)
        for lease, steps in trained.items():
            ledger.of(lease).steps = steps
        if life.killed:
            of_killed |= set(trained)
    leases = ledger.leases.values()
    return StepAccount(
        steps=sum(one.steps for one in leases),
        lost=sum(ledger.of(lease).steps for lease in of_killed if not ledger.of(lease).has_arrived),
        wasted=sum(one.steps for one in leases if not one.in_model),
        leases=ledger.times_dealt.total(),
        units_dealt_twice=sum(count > 1 for count in ledger.times_dealt.values()),
        results=sum(one.in_model for one in leases),
        busy=busy,
    )


def _read_event(ledger: _Ledger, event: dict[str, Any]) -> None:
    match event:
        case {"event": "unit leased", "lease": int(), "unit": int(unit)}:
            ledger.times_dealt[unit] += 1
        case {"event": "result here", "lease": int(lease)}:
            ledger.of(lease).has_arrived = True
        case {"event": "result counted", "lease": int(lease), "blended": bool(blended)}:
            ledger.of(lease).in_model = blended


def _trained(life: PeerLife) -> tuple[dict[int, int], float]:
    """Returns the steps of each lease, and the seconds in which one was in training."""
    steps: dict[int, int] = {}
    lease, at, busy = 0, 0.0, 0.0
    for report in life.reports():
        if report["event"] == "training":
            lease, at = report["lease"], report["at"]
            steps[lease] = 0
        elif report["event"] == "step":
            steps[lease] = report["step"]
            busy, at = busy + report["at"] - at, report["at"]
    return steps, busy
