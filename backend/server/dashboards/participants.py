"""Who takes part in a task, and who did, as its owner sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backend.server.hosting.client_link import Presence
from backend.server.observers import task_events
from backend.stores.contracts import ContributionRecord
from backend.stores.task_lives import Ban

# Rows of a table that people read. Those who are here come first, then those who gave most.
MOST_ROWS = 200
# Clients whose refusals are remembered by their code; a crowd of strangers must not fill the memory.
MOST_REMEMBERED = 4096
LATE = ("stale-round", "too-slow")


@dataclass
class People:
    """What clients did since the server started, beside what the records say of all time."""

    given: dict[str, ContributionRecord] = field(default_factory=dict)
    _refused: dict[str, Counter[str]] = field(default_factory=dict)

    def notice(self, event: task_events.TaskEvent) -> None:
        """Something happened."""
        if not isinstance(event, task_events.UpdateRefused | task_events.UnitRejected):
            return
        if event.client not in self._refused and len(self._refused) >= MOST_REMEMBERED:
            del self._refused[next(iter(self._refused))]
        self._refused.setdefault(event.client, Counter())[event.code] += 1

    def rows(
        self,
        here: Sequence[Presence],
        bans: Mapping[str, Ban],
        device: Callable[[Presence], str | None],
    ) -> list[dict[str, Any]]:
        """A row for each (docs/reference/http.md); `device` guesses of what class one is."""
        present = {one.client: one for one in here}
        away = sorted(self.given.values(), key=lambda one: (-one.accepted, one.client))
        names = list(dict.fromkeys([*present, *bans, *(one.client for one in away)]))[:MOST_ROWS]
        return [self._row(name, present.get(name), bans.get(name), device) for name in names]

    def _row(
        self, name: str, here: Presence | None, ban: Ban | None, device: Callable[[Presence], str | None]
    ) -> dict[str, Any]:
        given, codes = self.given.get(name), self._refused.get(name, Counter[str]())
        about = here or given
        return {
            "client": name,
            "kind": about.kind if about else None,
            "backend": about.backend if about else None,
            "device": device(here) if here else None,
            "status": here.status if here else None,
            "step_ms": here.step_ms if here else None,
            "accepted": given.accepted if given else 0,
            "refused": given.refused if given else 0,
            "examples": given.examples if given else 0,
            "late": sum(codes[code] for code in LATE),
            "refusals": dict(codes),
            "sent": here.sent if here else 0,
            "received": here.received if here else 0,
            "banned": ban.reason if ban else None,
        }
