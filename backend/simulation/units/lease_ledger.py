"""Keeps account of all leases of a simulated task: what became of each, and of its steps."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal, get_args

from backend.server.observers import task_events
from backend.server.observers.task_events import TaskEvent
from backend.server.units.results.result_uploads import UNSEEN

# The end of a lease, as far as its client knows: the server had enough, or the client was preempted or
# dropped out. None while the client works on it, or has sent its result.
Fate = Literal["not needed", "preempted", "dropped out"]
# What became of a lease: the model contains its result, it only confirmed another one, it came late, another
# client's was there first, it was refused, no result of it came, or it is still expected.
Outcome = Literal["in the model", "compared", "late", "not needed", "refused", "lost", "in flight"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass
class UnitAttempt:
    """One lease at its client: of `planned` steps `steps` were done.

    It took `needed` seconds from the unit's arrival to the server's answer; None without one.
    """

    lease: int
    device: str
    planned: int
    received_at: float
    steps: int = 0
    fate: Fate | None = None
    needed: float | None = None


@dataclass
class LeaseLedger:
    """Observes the server's events, and takes the attempts of all clients. Implements Observer.

    `ends` are the virtual seconds at which epochs ended; `staleness` and `waits` (seconds for a parameter
    server and its work) are those of each assimilation.
    """

    attempts: dict[int, UnitAttempt] = field(default_factory=dict)
    clients: dict[int, str] = field(default_factory=dict)
    staleness: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    last_result_at: float = 0.0
    _decided: dict[int, Outcome] = field(default_factory=dict)
    _late: set[int] = field(default_factory=set)

    def notice(self, _task: str, event: TaskEvent) -> None:
        """See Observer."""
        now = asyncio.get_running_loop().time()
        match event:
            case task_events.UnitLeased(client=client, lease=lease):
                self.clients[lease] = client
            case task_events.UnitReturned(lease=lease, late=True):
                self._late.add(lease)
            case task_events.UnitCounted(lease=lease, blended=blended):
                late: Outcome = "late" if lease in self._late else "compared"
                self._decided[lease] = "in the model" if blended else late
                self.last_result_at = now
            case task_events.UnitRejected(lease=lease, code=code):
                if lease in self.clients:
                    self._decided.setdefault(lease, "late" if code in UNSEEN else "refused")
            case task_events.UnitReleased(lease=lease):
                self._decided.setdefault(lease, "lost")
            case task_events.ResultAssimilated(staleness=staleness, seconds=seconds):
                self.staleness.append(staleness)
                self.waits.append(seconds)
            case task_events.RoundEnded():
                self.ends.append(now)

    def outcome(self, lease: int, is_leased: bool, has_arrived: bool) -> Outcome:
        """Returns what became of a lease, which may still be leased, or have a result without a verdict."""
        if (decided := self._decided.get(lease)) is not None:
            return decided
        attempt = self.attempts.get(lease)
        fate = None if attempt is None else attempt.fate
        if has_arrived or (is_leased and fate is None):
            return "in flight"
        return "not needed" if fate == "not needed" else "lost"
