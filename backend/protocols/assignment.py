"""Which data shards each member of a cohort trains on.

The answer depends on its arguments alone: the same cohort gets the same parts again after a restart, and a
client keeps most of its part when others come and go, so browsers find their shards in the cache.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b

import numpy as np


def assign(
    clients: Collection[str], shards: int, per_client: int, round_number: int, seed: int
) -> dict[str, tuple[int, ...]]:
    """Shard numbers (0 <= number < `shards`) for each client, at least one and at most `per_client`.

    All shards are shared out first: the clients take turns, each picking what it likes best of what is left.
    A client then works through its part, `per_client` shards a round, so every shard is used over the rounds
    of a lasting cohort. Parts are disjoint; only when there are more clients than shards, those left
    without take their favourite. Raises ValueError when a number is below one.
    """
    if shards < 1 or per_client < 1:
        raise ValueError("A round needs at least one shard, and one for each client.")
    order = sorted(clients, key=lambda client: _key(client, seed))
    likes = {client: _preferences(client, shards, seed) for client in order}
    parts = _share_out(order, likes, shards)
    return {client: _window(part, per_client, round_number) for client, part in parts.items()}


def assign_parts(
    clients: Collection[str], shard_parts: Sequence[int], per_client: int, round_number: int, seed: int
) -> dict[str, tuple[int, ...]]:
    """Shard numbers for each client where data were dealt out: shard s belongs to part `shard_parts[s]`.

    Each client has one part of its own, as far as there are parts, and works through its shards alone.
    Raises ValueError when there is no shard or `per_client` is below one.
    """
    numbers = sorted(set(shard_parts))
    chosen = assign(clients, len(numbers), 1, 0, seed)
    shards = {part: [s for s, one in enumerate(shard_parts) if one == part] for part in numbers}
    return {
        client: _window(shards[numbers[part]], per_client, round_number) for client, (part,) in chosen.items()
    }


def _share_out(order: list[str], likes: dict[str, list[int]], shards: int) -> dict[str, list[int]]:
    parts: dict[str, list[int]] = {client: [] for client in order}
    free = [True] * shards
    next_wish = dict.fromkeys(order, 0)
    for turn in range(shards if order else 0):
        client = order[turn % len(order)]
        wishes, at = likes[client], next_wish[client]
        while not free[wishes[at]]:
            at += 1
        parts[client].append(wishes[at])
        free[wishes[at]] = False
        next_wish[client] = at + 1
    for client in order[shards:]:
        parts[client].append(likes[client][0])
    return parts


def _window(part: list[int], per_client: int, round_number: int) -> tuple[int, ...]:
    count = min(per_client, len(part))
    start = round_number * count % len(part)
    return tuple(part[(start + step) % len(part)] for step in range(count))


def _preferences(client: str, shards: int, seed: int) -> list[int]:
    order: list[int] = np.random.Generator(np.random.Philox(_key(client, seed))).permutation(shards).tolist()
    return order


def _key(client: str, seed: int) -> int:
    return int.from_bytes(blake2b(f"{seed}/{client}".encode(), digest_size=16).digest(), "big")


def training_seed(client: str, round_number: int, seed: int) -> int:
    """Seed of a client's random inputs in one round, 0 <= seed < 2**31."""
    digest = blake2b(f"{seed}/{round_number}/{client}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1
