"""Which weights the peers of a mesh hold, as far as their server knows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from backend.wire.mesh_messages import Averaged

# So many peers must show the same result of a round that this server did not see the end of.
LEAST_WITNESSES = 2
# Rounds that peers may have made without their server; nobody counts further ahead.
MOST_AHEAD = 1 << 20


@dataclass
class WeightHoldings:
    """Owned by the coordinator. `newest` are the weights of the newest result, of `round`; `recorded` are
    those that the server can hand out itself, and their round.

    `known` is what peers hold by their signed reports to this server. What they show or tell of results that
    were made without it is `shown`: it counts while the server is `away` for the mesh, from its start, or
    from when it had no two peers, to the end of a round; and where two peers show the same.
    """

    recorded: tuple[int, str]
    away: bool = True
    known: dict[str, tuple[int, str]] = field(default_factory=dict)
    shown: dict[str, tuple[int, str]] = field(default_factory=dict)
    _reports: dict[tuple[int, int, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        self.round, self.newest = self.recorded
        # The last round that this server saw the end of.
        self._own = self.round

    def certified(self, client: str, number: int, weights: str) -> None:
        """`client` shows a certificate of the result `weights` of round `number`."""
        if (number, weights) in self.known.values():
            self.known[client] = (number, weights)
        elif self.away and number >= self.round:
            self.shown[client] = (number, weights)

    def reported(self, client: str, report: Averaged) -> None:
        """`client` reports the result of a group of an earlier start; a majority of its survivors must."""
        if not self.away or report.round <= self.round:
            return
        reporters = self._reports[report.round, report.group, report.weights]
        reporters.add(client)
        if 2 * len(reporters) > len(set(report.survivors)):
            self.shown |= dict.fromkeys(reporters, (report.round, report.weights))

    def made(self, number: int, newest: str, holders: Iterable[tuple[str, str]]) -> None:
        """Round `number` ended: `holders` are peers with the weights that each has now."""
        self.round, self.newest, self.away, self._own = number, newest, False, number
        self._reports.clear()
        self.shown.clear()
        self.known = {client: (number, weights) for client, weights in holders}

    def unseen(self, here: Container[str]) -> tuple[int, str] | None:
        """The result after the newest that those `here` show.

        It is of the newest round that more than half of those who show a later one have reached; of several,
        the one that most show.
        """
        later = self._shown(here, self._own + 1)
        witnessed = {one: n for one, n in _witnessed(later).items() if one[0] > self.round}
        reached = [
            number
            for number, _ in witnessed
            if 2 * sum(n for (one, _), n in later.items() if one >= number) > later.total()
        ]
        if not reached:
            return None
        return max((n, one) for one, n in witnessed.items() if one[0] == max(reached))[1]

    def _shown(self, here: Container[str], first: int) -> Counter[tuple[int, str]]:
        rounds = range(first, self.round + MOST_AHEAD)
        return Counter(one for client, one in self.shown.items() if client in here and one[0] in rounds)

    def settle(self, here: Container[str]) -> bool:
        """Before a round: takes over the newest unseen result; whether there is one.

        Weights that nobody who is `here` has any more are given up for others of their round, or for those
        that are recorded.
        """
        witnessed = _witnessed(self._shown(here, self.round))
        unseen = self.unseen(here)
        if unseen:
            self.round, self.newest = unseen
        self.known |= {client: one for client, one in self.shown.items() if one in witnessed}
        held = Counter(
            weights
            for client, (number, weights) in self.known.items()
            if client in here and number == self.round
        )
        if self.newest != self.recorded[1] and not held[self.newest]:
            if held:
                self.newest = max((n, weights) for weights, n in held.items())[1]
            else:
                self.round, self.newest = self.recorded
        return unseen is not None

    def base(self, client: str) -> str:
        """What `client` trains from: its own result of the newest round, else the newest."""
        number, weights = self.known.get(client, (-1, ""))
        return weights if number >= self.round else self.newest


def _witnessed(shown: Counter[tuple[int, str]]) -> Counter[tuple[int, str]]:
    return Counter({one: n for one, n in shown.items() if n >= LEAST_WITNESSES})
