"""What the coin of a round draws: everyone's examples, who validates, and whose work.

Pure functions of what all members agreed on, so that each can do another one's work again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from backend.crypto.round_context import fields, integer
from backend.wire.byzantine_messages import ByzantineRules
from backend.wire.messages import Shard, Train

# Seeds are whole numbers below this in both languages.
_SEEDS = 1 << 31


def drawn_number(coin: bytes, purpose: str, client: str, limit: int) -> int:
    """Returns a number below `limit`, at most 2^31, that the coin draws for one client and purpose."""
    digest = hashlib.sha256(fields(b"minga/mesh/1/drawn", coin, purpose.encode(), client.encode())).digest()
    # The top 52 bits: exact in both languages, and even enough for any such limit.
    return (int.from_bytes(digest[:7], "big") >> 4) % limit


def drawn_order(coin: bytes, purpose: str, clients: Collection[str]) -> list[str]:
    """Returns the clients in an order that nobody could choose."""

    def rank(client: str) -> bytes:
        return hashlib.sha256(fields(b"minga/mesh/1/order", coin, purpose.encode(), client.encode())).digest()

    return sorted(clients, key=rank)


def validations(
    coin: bytes, judges: Collection[str], targets: Collection[str], count: int, unable: Collection[str] = ()
) -> dict[str, str]:
    """Returns the target of each validator: `count` of the `judges`, or as many as leave a target each.

    Gorbunov et al. 2022, algorithm 1: validators and targets are drawn without replacement. The `unable`
    judge nobody, and are targets like all.
    """
    able = [one for one in drawn_order(coin, "validate", judges) if one not in unable]
    order = able[: min(count, len(judges) // 2)]
    drawn = [one for one in drawn_order(coin, "target", targets) if one not in order]
    return dict(zip(order, drawn, strict=False))


def agreed_plan(rules: ByzantineRules, number: int, weights: bytes) -> Train:
    """Returns what the plans of all members in round `number` from `weights` (SHA-256) have in common.

    It has no examples, no seed and no deadline: whole steps are done.
    """
    return Train(
        round=number,
        version=0,
        weights=weights.hex(),
        epochs=0,
        steps=rules.steps,
        batch_size=rules.batch_size,
        learning_rate=rules.learning_rate,
        past_steps=(number - 1) * rules.steps,
        seed=0,
        proximal_mu=0.0,
        control=None,
        masking=None,
        privacy=None,
        shards=[],
        seconds=0.0,
    )


def plan_of(agreed: Train, shards: Sequence[Shard], coin: bytes, client: str) -> Train:
    """Returns the work of `client` in the round of `agreed`, which has everything but examples and seed.

    It trains on one of the public `shards` (not empty), of which the seed draws the rows.
    """
    shard = shards[drawn_number(coin, "shard", client, len(shards))]
    return replace(agreed, shards=[shard], seed=drawn_number(coin, "seed", client, _SEEDS))


def coin_seed(coin: bytes) -> int:
    """Returns the seed below 2^52 of the random vectors that means are checked with."""
    digest = hashlib.sha256(fields(b"minga/mesh/1/projection", coin, integer(0))).digest()
    return int.from_bytes(digest[:7], "big") >> 4
