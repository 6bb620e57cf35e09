"""Who is connected, who of them may be selected, and whose turn it is."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from backend.protocols.rounds.phases import IllegalEventError
from backend.wire.masked_messages import Aggregation

# Products such as 0.29 * 100 fall a hair below the whole number that was meant.
_HAIR = 1e-9


def wanted(available: int, fraction: float, least: int) -> int:
    """How many updates a round is to bring: a fraction of those available, but `least` where there are."""
    return min(available, max(math.floor(fraction * available + _HAIR), least))


def with_reserve(count: int, available: int, over: float) -> int:
    """How many clients are chosen so that `count` report soon, though some of them dawdle or vanish."""
    return min(available, math.ceil(count * (1.0 + over) - _HAIR))


@dataclass
class Present:
    """A connected client: its time for a step, its own examples, and how often it was chosen.

    Its updates are added up by `aggregation`.
    """

    turns: int
    aggregation: Aggregation = "open"
    step_ms: float = 0.0
    examples: int = 0


class Attendance:
    """Owned by the machine of the rounds. With `own_data`, one without examples is never selected.

    `past` is how often each client took part in earlier runs of the server. Those who took part least are
    chosen first, ties by lot. A newcomer begins level with the least of those who stood for the last choice:
    otherwise it would be chosen until it caught up, and a new name would be a way to the front of the queue.
    """

    def __init__(self, own_data: bool, past: Mapping[str, int]) -> None:
        self._own_data = own_data
        self._past = dict(past)
        self._least = 0
        self._clients: dict[str, Present] = {}
        # By how their updates are added up.
        self._ready: dict[Aggregation, dict[str, Present]] = {"open": {}, "masked": {}}

    def __contains__(self, client: str) -> bool:
        return client in self._clients

    @property
    def here(self) -> Collection[str]:
        """Everybody who is connected."""
        return self._clients.keys()

    def __getitem__(self, client: str) -> Present:
        """A connected client. Raises IllegalEventError for any other."""
        if client not in self._clients:
            raise IllegalEventError(f"Client {client} has not joined.")
        return self._clients[client]

    @property
    def available(self) -> int:
        """How many may be selected."""
        return sum(map(len, self._ready.values()))

    def available_for(self, aggregation: Aggregation) -> int:
        """How many of them have their updates added up by `aggregation`."""
        return len(self._ready[aggregation])

    def whose_turn(self, aggregations: Sequence[Aggregation], least: int) -> Aggregation:
        """Whose updates a round adds up next: of the kinds with `least` available, the one with the client
        that took part least; the first of those in `aggregations`."""
        turns = {
            aggregation: min(one.turns for one in self._ready[aggregation].values())
            for aggregation in aggregations
            if self.available_for(aggregation) >= max(1, least)
        }
        return min(turns, key=turns.__getitem__, default=aggregations[0])

    def is_ready(self, client: str) -> bool:
        """Whether it may be selected."""
        return any(client in ready for ready in self._ready.values())

    def join(self, client: str, aggregation: Aggregation = "open") -> None:
        """A client is here. Raises IllegalEventError when it was before."""
        if client in self._clients:
            raise IllegalEventError(f"Client {client} is here already.")
        self._clients[client] = Present(max(self._past.get(client, 0), self._least), aggregation)

    def leave(self, client: str) -> None:
        """A client is no longer here."""
        self.silent(client)
        del self._clients[client]

    def ready(self, client: str) -> None:
        """It gave a sign of life: it may be selected if it has what the task needs."""
        present = self[client]
        if present.examples > 0 or not self._own_data:
            self._ready[present.aggregation][client] = present
        else:
            self.silent(client)

    def silent(self, client: str) -> None:
        """Nothing was heard of it in time: it is not selected before a sign of life."""
        self._ready[self._clients[client].aggregation].pop(client, None)

    def choose(self, count: int, draw: str, aggregation: Aggregation | None = None) -> tuple[str, ...]:
        """`count` of those available, in alphabetical order. The same `draw` always draws the same lots.

        With `aggregation` only of those whose updates are added up so.
        """
        kinds = self._ready.values() if aggregation is None else [self._ready[aggregation]]
        turns = {client: one.turns for ready in kinds for client, one in ready.items()}
        self._least = min(turns.values(), default=self._least)
        order = sorted(turns, key=lambda client: (turns[client], _lot(client, draw)))
        return tuple(sorted(order[:count]))

    def took_part(self, client: str) -> None:
        """It was chosen to train."""
        self._clients[client].turns += 1
        self._past[client] = self._clients[client].turns


def _lot(client: str, draw: str) -> bytes:
    return blake2b(f"{draw}/{client}".encode(), digest_size=8).digest()
