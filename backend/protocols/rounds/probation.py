"""The probation of newcomers: tracks in how many rounds their updates were checked before they count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Probation:
    """Tells newcomers from known clients. Owned by the round machine; with `rounds` 0 nobody is a newcomer.

    An identity is an account, an invitation for a limited number of people, or else the client itself, whose
    name costs nothing. `done` is the number of rounds in which updates of each identity were checked;
    clients in `known` had updates that counted in an earlier run of the server.
    """

    rounds: int
    done: dict[str, int]
    known: frozenset[str]
    _identities: dict[str, str] = field(default_factory=dict)
    # The last round that counted for each identity, which may have several clients in it.
    _last: dict[str, int] = field(default_factory=dict)

    def joined(self, client: str, identity: str) -> bool:
        """Notes that a client of `identity` connected; returns whether it is a newcomer."""
        self._identities[client] = identity
        return self.remaining(client) > 0

    def left(self, client: str) -> None:
        """Notes that a client disconnected."""
        del self._identities[client]

    def identity(self, client: str) -> str:
        """Returns the identity of a connected client."""
        return self._identities[client]

    def remaining(self, client: str) -> int:
        """Returns in how many rounds updates of a connected client are still checked before they count."""
        if client in self.known:
            return 0
        return max(0, self.rounds - self.done.get(self._identities[client], 0))

    def checked(self, client: str, number: int) -> list[str]:
        """Counts a checked update of round `number`, once for its identity.

        Returns the connected clients that are no newcomers any more.
        """
        identity = self._identities[client]
        if self._last.get(identity) == number or not self.remaining(client):
            return []
        self._last[identity] = number
        self.done[identity] = self.done.get(identity, 0) + 1
        if self.remaining(client):
            return []
        return [name for name, other in self._identities.items() if other == identity]


def probation_of(rounds: int, done: Mapping[str, int], past: Mapping[str, int]) -> Probation:
    """Returns the probation after an earlier run of the server; `past` are each client's accepted updates."""
    known = (client for client, accepted in past.items() if accepted) if rounds else ()
    return Probation(rounds, dict(done), frozenset(known))
