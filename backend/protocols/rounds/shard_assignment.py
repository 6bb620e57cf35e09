"""Which data shards each member of a cohort trains on: those that it had before, as far as that is fair."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np


@dataclass
class ShardAssigner:
    """Deals a task's shards out, round after round. Owned by the machine of the rounds.

    Clients keep shards in a cache, so each gets those again that it had, and takes new ones only until it has
    its share of all, or while others of the cohort train on its own. What is new to a client is the shard
    that was used least; among several, each client has favourites by its name, which a restart leaves alone.

    Where the data were dealt out beforehand, shard s belongs to part `parts[s]`: each client takes one part,
    first of all one that nobody has, and stays with it for good.

    After a round that came to nothing its members get the very same shards again: some have trained on them.

    `uses` counts how often each shard was dealt, `takers` the clients of each part; `held` are the shards
    that each client had, `again` those of the round that came to nothing. Raises ValueError when there is no
    shard, or none for each client.
    """

    shards: int
    per_client: int
    seed: int
    parts: Sequence[int] = ()
    uses: list[int] = field(init=False)
    takers: dict[int, int] = field(init=False)
    held: dict[str, list[int]] = field(init=False, default_factory=dict)
    again: dict[str, tuple[int, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.shards < 1 or self.per_client < 1:
            raise ValueError("A round needs at least one shard, and one for each client.")
        self.uses = [0] * self.shards
        self.takers = dict.fromkeys(sorted(set(self.parts)), 0)

    def deal(self, clients: Collection[str], available: int) -> dict[str, tuple[int, ...]]:
        """Shard numbers for each client of a cohort, at least one and at most `per_client`.

        `available` is how many clients there are to share all of them. No two get the same shard, except
        where there are more clients than shards, where they have the same part, or where all are dealt again
        to the members of the round before.
        """
        order = sorted(clients, key=lambda client: _key(client, self.seed))
        again, self.again = self.again, {}
        if self.parts:
            return {client: self._of_part(client, again.get(client, ())) for client in order}
        dealt = self._apart(again, order, math.ceil(self.shards / max(available, len(order), 1)))
        for client in order:
            held = self.held[client]
            if not dealt[client]:
                self._use(dealt[client], held or [self._newest(client, range(self.shards))])
            held.extend(shard for shard in dealt[client] if shard not in held)
        return {client: tuple(shards) for client, shards in dealt.items()}

    def put_back(self, dealt: Mapping[str, tuple[int, ...]]) -> None:
        """The round in which these were dealt came to nothing: they were not used."""
        self.again = dict(dealt)
        for shards in dealt.values():
            for shard in shards:
                self.uses[shard] -= 1

    def _apart(
        self, again: Mapping[str, tuple[int, ...]], order: Sequence[str], share: int
    ) -> dict[str, list[int]]:
        """Shards of which no two clients have the same, as far as they go; the clients take turns."""
        free = set(range(self.shards))
        dealt: dict[str, list[int]] = {client: [] for client in order}
        for client in order:
            for shard in again.get(client, ()):
                free -= self._use(dealt[client], [shard])
        # Who gets the same again gets no more either: it would have to train anew.
        asking = [client for client in order if client not in again]
        for turn in range(self.per_client):
            # What clients have comes first, so that nobody who looks for something new takes it from them.
            for client in asking:
                held = self.held.setdefault(client, [])
                if len(dealt[client]) <= turn and len(held) >= max(share, self.per_client):
                    free -= self._use(dealt[client], (shard for shard in held if shard in free))
            for client in asking:
                if len(dealt[client]) <= turn and free:
                    free -= self._use(dealt[client], [self._newest(client, free)])
        return dealt

    def _of_part(self, client: str, again: tuple[int, ...]) -> tuple[int, ...]:
        """The shards of its part that were used least, or those of `again`."""
        if client not in self.held:
            least = min(self.takers.values())
            part = _favourite(client, self.seed, [one for one, n in self.takers.items() if n == least])
            self.takers[part] += 1
            self.held[client] = [shard for shard, one in enumerate(self.parts) if one == part]
        dealt: list[int] = []
        for shard in again:
            self._use(dealt, [shard])
        for _ in range(min(self.per_client, len(self.held[client])) - len(dealt)):
            self._use(dealt, (shard for shard in self.held[client] if shard not in dealt))
        return tuple(dealt)

    def _use(self, dealt: list[int], choice: Iterable[int]) -> set[int]:
        """Deals the one of `choice` that was used least, if there is any, and returns it."""
        shard = min(choice, key=lambda shard: self.uses[shard], default=None)
        if shard is None:
            return set()
        dealt.append(shard)
        self.uses[shard] += 1
        return {shard}

    def _newest(self, client: str, choice: Collection[int]) -> int:
        """What the client likes best of those shards that were used least."""
        least = min(self.uses[shard] for shard in choice)
        return _favourite(client, self.seed, [shard for shard in choice if self.uses[shard] == least])


def _favourite(client: str, seed: int, numbers: Sequence[int]) -> int:
    """What the client likes best of `numbers`, whatever else there is."""
    likes = np.random.Generator(np.random.Philox(_key(client, seed))).random(max(numbers) + 1)
    return numbers[int(likes[list(numbers)].argmax())]


def _key(client: str, seed: int) -> int:
    return int.from_bytes(blake2b(f"{seed}/{client}".encode(), digest_size=16).digest(), "big")


def training_seed(client: str, round_number: int, seed: int) -> int:
    """Seed of a client's random inputs in one round, 0 <= seed < 2**31."""
    digest = blake2b(f"{seed}/{round_number}/{client}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1
