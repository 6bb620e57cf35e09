"""Shard assignment: gives each member of a cohort the shards that it had before, as far as that is fair."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np


@dataclass
class ShardAssigner:
    """Assigns a task's shards to clients, round after round. Owned by the round machine.

    Clients cache shards, so each client gets the shards that it had before, and new ones only until it has
    its share of all shards, or while other members of the cohort train on its own. Of the shards that are new
    to a client it gets those that were used least; ties are broken by a preference that depends on the
    client's id alone, so that a restart changes nothing.

    Where the data are partitioned by client, shard s belongs to part `parts[s]`: each client takes one part,
    preferably one that no other client has, and keeps it.

    After an abandoned round its members get the same shards again: some have trained on them already.

    `uses` counts how often each shard was assigned, `part_clients` the clients of each part; `client_shards`
    are the shards that each client had, `returned` the assignments of the abandoned round before. Raises
    ValueError without shards, or when a client would get none.
    """

    shards: int
    per_client: int
    seed: int
    parts: Sequence[int] = ()
    uses: list[int] = field(init=False)
    part_clients: dict[int, int] = field(init=False)
    client_shards: dict[str, list[int]] = field(init=False, default_factory=dict)
    returned: dict[str, tuple[int, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.shards < 1 or self.per_client < 1:
            raise ValueError("A round needs at least one shard, and one for each client.")
        self.uses = [0] * self.shards
        self.part_clients = dict.fromkeys(sorted(set(self.parts)), 0)

    def assign(self, clients: Collection[str], available: int) -> dict[str, tuple[int, ...]]:
        """Returns shard numbers for each client of a cohort, at least one and at most `per_client`.

        `available` is the number of clients that share all shards. No two clients get the same shard, except
        where there are more clients than shards, where they have the same part, or where members of an
        abandoned round get their shards again.
        """
        order = sorted(clients, key=lambda client: _key(client, self.seed))
        returned, self.returned = self.returned, {}
        if self.parts:
            return {client: self._assign_part(client, returned.get(client, ())) for client in order}
        share = math.ceil(self.shards / max(available, len(order), 1))
        assigned = self._assign_disjoint(returned, order, share)
        for client in order:
            own = self.client_shards[client]
            if not assigned[client]:
                self._use(assigned[client], own or [self._least_used(client, range(self.shards))])
            own.extend(shard for shard in assigned[client] if shard not in own)
        return {client: tuple(shards) for client, shards in assigned.items()}

    def take_back(self, assigned: Mapping[str, tuple[int, ...]]) -> None:
        """Takes back the assignments of an abandoned round: the shards do not count as used."""
        self.returned = dict(assigned)
        for shards in assigned.values():
            for shard in shards:
                self.uses[shard] -= 1

    def _assign_disjoint(
        self, returned: Mapping[str, tuple[int, ...]], order: Sequence[str], share: int
    ) -> dict[str, list[int]]:
        """Assigns disjoint shards as long as there are any; clients get one in each pass."""
        free = set(range(self.shards))
        assigned: dict[str, list[int]] = {client: [] for client in order}
        for client in order:
            for shard in returned.get(client, ()):
                free -= self._use(assigned[client], [shard])
        # A client that gets its shards again gets no others: it would have to train a second time.
        others = [client for client in order if client not in returned]
        for position in range(self.per_client):
            # Shards that clients have come first, so that no other client takes them as new ones.
            for client in others:
                own = self.client_shards.setdefault(client, [])
                if len(assigned[client]) <= position and len(own) >= max(share, self.per_client):
                    free -= self._use(assigned[client], (shard for shard in own if shard in free))
            for client in others:
                if len(assigned[client]) <= position and free:
                    free -= self._use(assigned[client], [self._least_used(client, free)])
        return assigned

    def _assign_part(self, client: str, returned: tuple[int, ...]) -> tuple[int, ...]:
        """Assigns the shards of the client's part that were used least, or those that were `returned`."""
        if client not in self.client_shards:
            fewest = min(self.part_clients.values())
            candidates = [part for part, clients in self.part_clients.items() if clients == fewest]
            chosen = _preferred(client, self.seed, candidates)
            self.part_clients[chosen] += 1
            self.client_shards[client] = [shard for shard, part in enumerate(self.parts) if part == chosen]
        own = self.client_shards[client]
        assigned: list[int] = []
        for shard in returned:
            self._use(assigned, [shard])
        for _ in range(min(self.per_client, len(own)) - len(assigned)):
            self._use(assigned, (shard for shard in own if shard not in assigned))
        return tuple(assigned)

    def _use(self, assigned: list[int], candidates: Iterable[int]) -> set[int]:
        """Assigns the least used of `candidates`, if there is any, and returns it."""
        shard = min(candidates, key=lambda shard: self.uses[shard], default=None)
        if shard is None:
            return set()
        assigned.append(shard)
        self.uses[shard] += 1
        return {shard}

    def _least_used(self, client: str, candidates: Collection[int]) -> int:
        """Returns the client's preferred shard among the least used `candidates`."""
        fewest = min(self.uses[shard] for shard in candidates)
        return _preferred(client, self.seed, [shard for shard in candidates if self.uses[shard] == fewest])


def _preferred(client: str, seed: int, numbers: Sequence[int]) -> int:
    """Returns the client's preferred one of `numbers`, by ranks that depend on the client alone."""
    ranks = np.random.Generator(np.random.Philox(_key(client, seed))).random(max(numbers) + 1)
    return numbers[int(ranks[list(numbers)].argmax())]


def _key(client: str, seed: int) -> int:
    return int.from_bytes(blake2b(f"{seed}/{client}".encode(), digest_size=16).digest(), "big")


def training_seed(client: str, round_number: int, seed: int) -> int:
    """Returns the seed of a client's random inputs in one round, 0 <= seed < 2**31."""
    digest = blake2b(f"{seed}/{round_number}/{client}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1
