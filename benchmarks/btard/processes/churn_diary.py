"""What the members of a mesh under churn report, and the figures that follow from it."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from benchmarks.btard.processes.churn_members import Event


@dataclass
class Fault:
    """One fault of the member `client`, in a phase of round `number` of the mesh."""

    client: str
    kind: str
    phase: str
    number: int
    recovered: bool = False
    returned: int | None = None


@dataclass
class ChurnDiary:
    """Owns all reports of a run. `newest` is the latest standing that any member reported."""

    newest: Event | None = None
    faults: list[Fault] = field(default_factory=list)
    failed: int = 0
    ended: int = 0
    removed: Counter[str] = field(default_factory=Counter)
    _states: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    _weights: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    _standings: dict[int, Event] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Takes one report."""
        match event["event"]:
            case "averaged" | "holds":
                self._weights[event["round"]].add(event["weights"])
            case "standing":
                self._take_standing(event)
            case "failed":
                self.failed += 1
            case "ended":
                self.ended += 1

    def _take_standing(self, event: Event) -> None:
        number = event["round"]
        self._states[number].add(event["state"])
        self._standings.setdefault(number, event)
        if self.newest is None or number > self.newest["round"]:
            self.newest = event
        for fault in self.faults:
            has_returned = fault.returned is None and fault.recovered and number > fault.number
            if has_returned and fault.client in event["active"]:
                fault.returned = number - fault.number

    @property
    def present(self) -> list[str]:
        """The clients with a seat that do not rest in the next round."""
        return list(self.newest["present"]) if self.newest else []

    @property
    def number(self) -> int:
        """The newest round with a result."""
        return int(self.newest["round"]) if self.newest else 0

    def is_back(self, fault: Fault) -> bool:
        """Whether a member took part again after its fault, or the others continue without it."""
        return fault.recovered and (fault.returned is not None or fault.client not in self.present)

    def is_whole(self, clients: list[str]) -> bool:
        """Whether the newest round ended with exactly these clients, all with a seat."""
        newest = self.newest
        return newest is not None and sorted(newest["active"]) == sorted(newest["seats"]) == sorted(clients)

    def figures(self, clients: list[str]) -> dict[str, Any]:
        """Returns the figures of a run of these members."""
        by_phase: dict[str, Counter[str]] = defaultdict(Counter)
        for fault in self.faults:
            by_phase[fault.kind][fault.phase] += 1
        lost, regained = self._seat_changes()
        returns = [fault.returned for fault in self.faults if fault.returned is not None]
        different = [
            number
            for found in (self._states, self._weights)
            for number, values in found.items()
            if len(values) > 1
        ]
        return {
            "rounds": self.number,
            "failed_attempts": self.failed,
            "ended": self.ended,
            "faults": {kind: dict(sorted(by_phase[kind].items())) for kind in sorted(by_phase)},
            "banned_honest": max((one["banned"] for one in self._standings.values()), default=0),
            "different_bits": len(different),
            "seats": sum(client in (self.newest or {"seats": []})["seats"] for client in clients),
            "seats_lost": lost,
            "seats_regained": regained,
            "not_returned": sum(fault.returned is None for fault in self.faults),
            "rounds_to_return": statistics.median(returns) if returns else None,
            "most_rounds_to_return": max(returns, default=None),
        }

    def _seat_changes(self) -> tuple[int, int]:
        """Returns how often a seat was lost, and how often one of those who had lost theirs got one."""
        lost = regained = 0
        before, ever = set[str](), set[str]()
        for number in sorted(self._standings):
            now = set(self._standings[number]["seats"])
            lost += len(before - now)
            regained += len((now - before) & ever)
            before, ever = now, ever | now
        return lost, regained
