"""The attendance: tracks which clients are connected and eligible, and selects the next cohort."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from backend.protocols.rounds.group_lots import draw_groups
from backend.protocols.rounds.household_seats import HouseholdSeats
from backend.protocols.rounds.lots import PUBLIC_LOTS, Lots
from backend.protocols.rounds.phases import IllegalEventError
from backend.wire.masked_messages import Aggregation

# Products such as 0.29 * 100 fall a hair below the whole number that was meant.
_HAIR = 1e-9


def target_updates(available: int, fraction: float, minimum: int) -> int:
    """The number of updates that a round aims at: a fraction of `available`, `minimum` at least."""
    return min(available, max(math.floor(fraction * available + _HAIR), minimum))


def with_reserve(count: int, available: int, over: float) -> int:
    """The number of clients to select so that `count` report in time although some are slow or vanish."""
    return min(available, math.ceil(count * (1.0 + over) - _HAIR))


@dataclass
class AttendingClient:
    """A connected client: its time for a step, its number of own examples, and how often it was selected.

    `aggregation` is how its updates are added up. `household` is the network it is counted by, if any. The
    updates of a `newcomer` do not count yet.
    """

    participations: int
    aggregation: Aggregation = "open"
    household: str = ""
    newcomer: bool = False
    # It is kept out, and would be eligible otherwise.
    waits: bool = False
    step_ms: float = 0.0
    examples: int = 0


class Attendance:
    """Tracks clients for the round machine. With `own_data`, those without examples are never eligible.

    `past` maps clients to their participations in earlier runs of the server. Clients with the fewest
    participations are selected first, ties by `lots`. A new client starts with the minimum of those
    that were eligible at the last selection: otherwise it would be selected until it caught up, and a new
    name would move a client to the front of the queue.

    A masked cohort is drawn by lot, from the half of the clients with the fewest participations first: a
    client that could wait until a victim is next would be selected with it. It has at most
    `most_per_household` clients of one household; 0 is no limit.

    Newcomers (see Probation) are no available clients, and are selected for seats of their own: the first of
    each household before the second of any, so that many names of one network take no other's turn.
    """

    def __init__(
        self,
        own_data: bool,
        past: Mapping[str, int],
        lots: Lots = PUBLIC_LOTS,
        most_per_household: int = 0,
    ) -> None:
        self._own_data = own_data
        self._past = dict(past)
        self._lots = lots
        self._minimum = 0
        self._clients: dict[str, AttendingClient] = {}
        self._eligible: dict[Aggregation, dict[str, AttendingClient]] = {"open": {}, "masked": {}}
        self._newcomers: dict[str, AttendingClient] = {}
        # The households of clients that are kept out.
        self._kept_out: dict[str, str] = {}
        self._seats: dict[Aggregation, HouseholdSeats] = {
            "open": HouseholdSeats(),
            "masked": HouseholdSeats(most_per_household),
        }

    def __contains__(self, client: str) -> bool:
        return client in self._clients

    @property
    def connected(self) -> Collection[str]:
        """All connected clients."""
        return self._clients.keys()

    def __getitem__(self, client: str) -> AttendingClient:
        """Returns a connected client. Raises IllegalEventError for any other."""
        if client not in self._clients:
            raise IllegalEventError(f"Client {client} has not joined.")
        return self._clients[client]

    @property
    def available(self) -> int:
        """The number of eligible clients that a round may select."""
        return sum(seats.available for seats in self._seats.values())

    def available_for(self, aggregation: Aggregation) -> int:
        """The number of eligible clients that a round may select whose updates are added up like that."""
        return self._seats[aggregation].available

    @property
    def newcomers(self) -> int:
        """The number of eligible newcomers."""
        return len(self._newcomers)

    def next_aggregation(self, aggregations: Sequence[Aggregation], minimum: int) -> Aggregation:
        """Returns the aggregation of the next round, of those with `minimum` eligible clients.

        It has the client with the fewest participations; ties go to the first in `aggregations`.
        """
        fewest = {
            aggregation: min(client.participations for client in self._eligible[aggregation].values())
            for aggregation in aggregations
            if self.available_for(aggregation) >= max(1, minimum)
        }
        return min(fewest, key=fewest.__getitem__, default=aggregations[0])

    def is_ready(self, client: str) -> bool:
        """Whether a client is eligible."""
        return client in self._newcomers or any(client in clients for clients in self._eligible.values())

    def join(
        self, client: str, aggregation: Aggregation = "open", household: str = "", newcomer: bool = False
    ) -> None:
        """Adds a client that connected. Raises IllegalEventError when it is connected already."""
        if client in self._clients:
            raise IllegalEventError(f"Client {client} is here already.")
        participations = max(self._past.get(client, 0), self._minimum)
        self._clients[client] = AttendingClient(participations, aggregation, household, newcomer)

    def leave(self, client: str) -> None:
        """Removes a client that disconnected."""
        self.suspend(client)
        del self._clients[client]

    def ready(self, client: str) -> None:
        """Makes a client that sent a message eligible, if it has what the task needs."""
        connected = self[client]
        if connected.examples == 0 and self._own_data:
            self.suspend(client)
        elif client in self._kept_out:
            connected.waits = True
        elif connected.newcomer:
            self._newcomers[client] = connected
        elif client not in self._eligible[connected.aggregation]:
            self._eligible[connected.aggregation][client] = connected
            self._seats[connected.aggregation].add(connected.household)

    def suspend(self, client: str) -> None:
        """Makes a client ineligible until its next message, because it missed a deadline."""
        connected = self._clients[client]
        connected.waits = False
        self._newcomers.pop(client, None)
        if self._eligible[connected.aggregation].pop(client, None) is not None:
            self._seats[connected.aggregation].remove(connected.household)

    def keep_out(self, client: str, household: str) -> None:
        """Makes a client ineligible until `readmit`. It keeps a seat of `household` meanwhile.

        It may be gone: its household is the one by which it was selected.
        """
        if client in self._kept_out:
            return
        connected = self._clients.get(client)
        was_eligible = self.is_ready(client)
        if connected is not None:
            self.suspend(client)
            connected.waits = was_eligible
        self._kept_out[client] = household
        self._seats["masked"].keep(household)

    def readmit(self, client: str) -> None:
        """Lets a client that was kept out take part again."""
        self._seats["masked"].give_back(self._kept_out.pop(client))
        if client in self._clients and self._clients[client].waits:
            self.ready(client)

    def select(self, count: int, purpose: str, aggregation: Aggregation | None = None) -> tuple[str, ...]:
        """Returns up to `count` eligible clients in alphabetical order. `purpose` names the draw of lots.

        With `aggregation`, only clients whose updates are added up that way.
        """
        groups = self._eligible.values() if aggregation is None else [self._eligible[aggregation]]
        clients = {name: client for group in groups for name, client in group.items()}
        participations = {name: client.participations for name, client in clients.items()}
        self._minimum = min(participations.values(), default=self._minimum)
        if aggregation == "masked" and participations:
            middle = median_low(participations.values())
            ranks = {name: int(times > middle) for name, times in participations.items()}
        else:
            ranks = participations
        order = sorted(clients, key=lambda name: (ranks[name], self._lots.lot(purpose, name)))
        if aggregation is not None:
            households = {name: client.household for name, client in clients.items()}
            order = self._seats[aggregation].fill(order, households, count)
        return tuple(sorted(order[:count]))

    def groups(self, clients: Collection[str], count: int, purpose: str) -> tuple[tuple[str, ...], ...]:
        """Splits selected `clients` into `count` groups by lot. `purpose` names the draw."""
        return draw_groups(clients, count, self._lots, purpose)

    def select_newcomers(self, count: int, purpose: str) -> tuple[str, ...]:
        """Returns up to `count` eligible newcomers in alphabetical order. `purpose` names the draw of lots.

        Households take turns; those of a household are ordered as `select` orders clients.
        """
        order = sorted(
            self._newcomers,
            key=lambda name: (self._newcomers[name].participations, self._lots.lot(purpose, name)),
        )
        before, turns = Counter[str](), dict[str, int]()
        for name in order:
            household = self._newcomers[name].household or name
            turns[name] = before[household]
            before[household] += 1
        return tuple(sorted(sorted(order, key=turns.__getitem__)[:count]))

    def promote(self, client: str) -> None:
        """Makes a newcomer a client like all others."""
        connected = self[client]
        connected.newcomer = False
        connected.participations = max(connected.participations, self._minimum)
        if self._newcomers.pop(client, None) is not None:
            self.ready(client)

    def took_part(self, client: str) -> None:
        """Counts a participation of a client that was selected to train."""
        self._clients[client].participations += 1
        self._past[client] = self._clients[client].participations
