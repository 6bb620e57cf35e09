"""Who is connected, who of them may be selected, and whose turn it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

from backend.protocols.phases import IllegalEventError

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
    """A connected client: its time for a step, its own examples, and how often it was chosen."""

    turns: int
    step_ms: float = 0.0
    examples: int = 0


class Roster:
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
        self._ready: dict[str, None] = {}

    def __contains__(self, client: str) -> bool:
        return client in self._clients

    def __getitem__(self, client: str) -> Present:
        """A connected client. Raises IllegalEventError for any other."""
        if client not in self._clients:
            raise IllegalEventError(f"Client {client} has not joined.")
        return self._clients[client]

    @property
    def available(self) -> int:
        """How many may be selected."""
        return len(self._ready)

    def is_ready(self, client: str) -> bool:
        """Whether it may be selected."""
        return client in self._ready

    def join(self, client: str) -> None:
        """A client is here. Raises IllegalEventError when it was before."""
        if client in self._clients:
            raise IllegalEventError(f"Client {client} is here already.")
        self._clients[client] = Present(max(self._past.get(client, 0), self._least))

    def leave(self, client: str) -> None:
        """A client is no longer here."""
        del self._clients[client]
        self._ready.pop(client, None)

    def ready(self, client: str) -> None:
        """It gave a sign of life: it may be selected if it has what the task needs."""
        if self[client].examples > 0 or not self._own_data:
            self._ready[client] = None
        else:
            self._ready.pop(client, None)

    def silent(self, client: str) -> None:
        """Nothing was heard of it in time: it is not selected before a sign of life."""
        self._ready.pop(client, None)

    def choose(self, count: int, draw: str) -> tuple[str, ...]:
        """`count` of those available, in alphabetical order. The same `draw` always draws the same lots."""
        turns = {client: self._clients[client].turns for client in self._ready}
        self._least = min(turns.values(), default=self._least)
        order = sorted(turns, key=lambda client: (turns[client], _lot(client, draw)))
        return tuple(sorted(order[:count]))

    def took_part(self, client: str) -> None:
        """It was chosen to train."""
        self._clients[client].turns += 1
        self._past[client] = self._clients[client].turns


def _lot(client: str, draw: str) -> bytes:
    return blake2b(f"{draw}/{client}".encode(), digest_size=8).digest()
