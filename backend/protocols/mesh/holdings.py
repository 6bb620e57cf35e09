"""Tracks which weights the peers of a mesh hold, as far as the server knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

# Peers that must show the same result of a round whose end this server did not see.
LEAST_WITNESSES = 2


@dataclass(frozen=True)
class ProvenResult:
    """The result `weights` of `round`, proven to follow from a group that this server recorded.

    `members` are that group's, `recorded` those of all groups that were recorded with it.
    """

    round: int
    weights: str
    members: frozenset[str]
    recorded: frozenset[str]


@dataclass
class WeightHoldings:
    """The weights that peers hold. Owned by the coordinator.

    `newest` are the weights of the newest result, of `round`; `recorded` has the round and weights that the
    server itself can send. `known` has the weights of peers by their signed reports to this server, `shown`
    those of results made without it. The latter count while the server is `away` for the mesh (from its
    start, or from when fewer than two peers were connected, to the end of a round), if two peers show the
    same, and if results so new follow from groups with more than half of the members recorded. Who shows a
    result is a survivor of its group, and the host has checked its certificates.
    """

    recorded: tuple[int, str]
    away: bool = True
    known: dict[str, tuple[int, str]] = field(default_factory=dict)
    shown: dict[str, ProvenResult] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.round, self.newest = self.recorded
        # The last round whose end this server saw.
        self._own = self.round

    def certified(self, client: str, proven: ProvenResult) -> None:
        """Takes a result that `client` proves by certificates."""
        result = (proven.round, proven.weights)
        if result in self.known.values():
            self.known[client] = result
        elif self.away and proven.round >= self.round:
            self.shown[client] = proven

    def made(self, number: int, newest: str, holders: Iterable[tuple[str, str]]) -> None:
        """Takes the end of round `number`: `holders` are peers with the weights that each has now."""
        self.round, self.newest, self.away, self._own = number, newest, False, number
        self.shown.clear()
        self.known = {client: (number, weights) for client, weights in holders}

    def unseen(self, connected: Container[str]) -> tuple[int, str] | None:
        """Returns the newer result that `connected` peers show; None if there is none.

        Of the peers that show a later round, more than half must have reached the result's round, and so must
        groups with more than half of the members recorded. The newest such round counts; of several results,
        the one that most peers show.
        """
        later = self._shown(connected, self._own + 1)
        witnessed = {result: n for result, n in _witnessed(_results(later)).items() if result[0] > self.round}
        reached = [number for number, _ in witnessed if _most_reached(later, number)]
        if not reached:
            return None
        return max((n, result) for result, n in witnessed.items() if result[0] == max(reached))[1]

    def _shown(self, connected: Container[str], first: int) -> list[ProvenResult]:
        return [
            proven for client, proven in self.shown.items() if client in connected and proven.round >= first
        ]

    def settle(self, connected: Container[str]) -> bool:
        """Adopts the newest unseen result before a round; returns whether there is one.

        Weights that no `connected` peer holds any more are replaced by others of their round, or by the
        recorded ones.
        """
        witnessed = _witnessed(_results(self._shown(connected, self.round)))
        unseen = self.unseen(connected)
        if unseen:
            self.round, self.newest = unseen
        results = {client: (proven.round, proven.weights) for client, proven in self.shown.items()}
        self.known |= {client: result for client, result in results.items() if result in witnessed}
        holder_counts = Counter(
            weights
            for client, (number, weights) in self.known.items()
            if client in connected and number == self.round
        )
        if self.newest != self.recorded[1] and not holder_counts[self.newest]:
            if holder_counts:
                self.newest = max((n, weights) for weights, n in holder_counts.items())[1]
            else:
                self.round, self.newest = self.recorded
        return unseen is not None

    def base(self, client: str) -> str:
        """Returns where `client` trains from: its own result of the newest round, else the newest weights."""
        number, weights = self.known.get(client, (-1, ""))
        return weights if number >= self.round else self.newest


def _results(shown: Iterable[ProvenResult]) -> Counter[tuple[int, str]]:
    return Counter((proven.round, proven.weights) for proven in shown)


def _most_reached(later: Sequence[ProvenResult], number: int) -> bool:
    """Whether most peers that show a later round, and the groups of most members, reached round `number`."""
    reached = [proven for proven in later if proven.round >= number]
    if 2 * len(reached) <= len(later):
        return False
    groups: dict[frozenset[str], set[str]] = {}
    for proven in reached:
        groups.setdefault(proven.recorded, set()).update(proven.members)
    return any(2 * len(members) > len(recorded) for recorded, members in groups.items())


def _witnessed(shown: Counter[tuple[int, str]]) -> Counter[tuple[int, str]]:
    return Counter({result: n for result, n in shown.items() if n >= LEAST_WITNESSES})
