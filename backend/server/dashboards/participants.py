"""Lists the current and past participants of a task for its owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backend.server.hosting.clients.client_link import Presence
from backend.server.observers import task_events
from backend.stores.contracts import ContributionRecord
from backend.stores.task_lives import Ban

# Rows of the table: connected clients first, then banned ones, then those that contributed most.
MAX_ROWS = 200
# Clients whose refusals are counted by code: a limit, so that strangers cannot fill the memory.
MAX_COUNTED_CLIENTS = 4096
LATE_CODES = ("stale-round", "too-slow")


@dataclass
class ParticipantTable:
    """Counts refusals since the server started, beside the recorded `contributions` of all time."""

    contributions: dict[str, ContributionRecord] = field(default_factory=dict)
    _refused: dict[str, Counter[str]] = field(default_factory=dict)
    # Results of work units that came after their lease's time, though they may count.
    _late: Counter[str] = field(default_factory=Counter)

    def notice(self, event: task_events.TaskEvent) -> None:
        """Counts refused updates, and refused and late results of work units. Ignores other events.

        A result whose unit was `over`, as at the end of a training, was not refused, nor was a `partial` one
        that cannot be compared.
        """
        match event:
            case task_events.UnitReturned(client=client, late=True):
                if client in self._late or len(self._late) < MAX_COUNTED_CLIENTS:
                    self._late[client] += 1
            case task_events.UnitRejected(code="over" | "partial"):
                pass
            case task_events.UpdateRefused() | task_events.UnitRejected():
                if event.client not in self._refused and len(self._refused) >= MAX_COUNTED_CLIENTS:
                    del self._refused[next(iter(self._refused))]
                self._refused.setdefault(event.client, Counter())[event.code] += 1

    def rows(
        self,
        connected: Sequence[Presence],
        bans: Mapping[str, Ban],
        device: Callable[[Presence], str | None],
        traffic: Callable[[str], tuple[int, int]],
    ) -> list[dict[str, Any]]:
        """Returns a row for each client (docs/reference/http.md).

        `device` guesses its device class, `traffic` returns the bytes sent to and received from it.
        """
        presences = {presence.client: presence for presence in connected}
        contributors = sorted(self.contributions.values(), key=lambda each: (-each.accepted, each.client))
        names = dict.fromkeys([*presences, *bans, *(each.client for each in contributors)])
        return [
            self._row(name, presences.get(name), bans.get(name), device, traffic(name))
            for name in list(names)[:MAX_ROWS]
        ]

    def _row(
        self,
        name: str,
        presence: Presence | None,
        ban: Ban | None,
        device: Callable[[Presence], str | None],
        traffic: tuple[int, int],
    ) -> dict[str, Any]:
        contribution, codes = self.contributions.get(name), self._refused.get(name, Counter[str]())
        source = presence or contribution
        return {
            "client": name,
            "kind": source.kind if source else None,
            "backend": source.backend if source else None,
            "device": device(presence) if presence else None,
            "status": presence.status if presence else None,
            "step_ms": presence.step_ms if presence else None,
            "accepted": contribution.accepted if contribution else 0,
            "refused": contribution.refused if contribution else 0,
            "examples": contribution.examples if contribution else 0,
            "late": sum(codes[code] for code in LATE_CODES) + self._late[name],
            "refusals": dict(codes),
            "sent": traffic[0],
            "received": traffic[1],
            "banned": ban.reason if ban else None,
        }
