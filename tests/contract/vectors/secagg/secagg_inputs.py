"""What a member of a masked round hears in the conversations of secagg.json."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from backend.protocols.secagg.member_events import (
    MaskedFrame,
    Planned,
    RevealMade,
    RosterChecked,
    SharesOpened,
    SharesSealed,
)
from backend.wire.masked_messages import Masking, Member, Server
from backend.wire.messages import (
    Abandoned,
    Dealt,
    Keys,
    Roster,
    ServerFrame,
    Shard,
    State,
    Survivors,
    Train,
    Unmask,
    Version,
)

BUNDLE, WEIGHTS, SHARD = "b" * 64, "a" * 64, "d" * 64
CLIENTS = ("1a", "2b", "3c", "4d", "5e")
ME, PLACE, OTHERS = CLIENTS[2], 2, [0, 1, 3, 4]
SENDERS = [0, 1, 3]
ALIVE, VOUCHERS = [0, 1, 2, 3], [0, 1, 2, 3]


def word(client: int, kind: int, length: int = 32) -> bytes:
    """Some bytes of a client, as long as a key."""
    return bytes([16 * client + kind]) * length


def masking(server: Server = "honest", least: int = 3) -> Masking:
    return Masking(bits=32, clip=1.0, examples=64, noise=0.0, share=1.0, min_clients=least, server=server)


def train(
    number: int,
    terms: Masking | None,
    seconds: float = 60.0,
    seed: int = 7,
    version: int | None = None,
) -> Train:
    version = number - 1 if version is None else version
    return Train(
        round=number, version=version, weights=WEIGHTS, epochs=1, steps=0, batch_size=32,
        learning_rate=0.003, past_steps=0, seed=seed, proximal_mu=0.0, control=None, masking=terms,
        privacy=None, shards=[Shard(SHARD, 64)], seconds=seconds,
    )  # fmt: skip


def planned(
    number: int = 1,
    server: Server = "honest",
    minimum: int = 0,
    seconds: float = 60.0,
    seed: int = 7,
    version: int | None = None,
) -> Planned:
    return Planned(ME, BUNDLE, minimum, train(number, masking(server), seconds, seed, version))


def keys(number: int = 1, client: int = PLACE) -> Keys:
    mask_key, share_key, seed_hash, identity = (word(client, kind) for kind in range(1, 5))
    return Keys(
        round=number, mask_key=mask_key, share_key=share_key, seed_hash=seed_hash, identity=identity,
        signature=word(client, 5, 64),
    )  # fmt: skip


def member(client: int) -> Member:
    sent = keys(1, client)
    return Member(
        CLIENTS[client], sent.mask_key, sent.share_key, sent.seed_hash, sent.identity, sent.signature
    )


def stranger(client: int) -> Member:
    """A member of a large roster, with keys that no other one has."""
    mask_key, share_key, seed_hash, identity = (bytes([client, kind]) * 16 for kind in range(1, 5))
    return Member(f"9{client:03d}", mask_key, share_key, seed_hash, identity, bytes(64))


MEMBERS = [member(client) for client in range(len(CLIENTS))]


# A roster of 65, and the neighbours of this client on a ring in the order of places.
CROWD = [*MEMBERS, *(stranger(client) for client in range(len(CLIENTS), 65))]
CROWD_NEIGHBOURS = [0, 1, *range(3, 17), *range(53, 65)]


def says(frame: ServerFrame) -> MaskedFrame:
    return MaskedFrame(frame)


def roster(number: int = 1, members: list[Member] | None = None) -> MaskedFrame:
    return says(Roster(round=number, members=MEMBERS if members is None else members))


def changed(client: int, /, **fields: object) -> MaskedFrame:
    """The roster with one member's fields changed."""
    members = list(MEMBERS)
    members[client] = replace(members[client], **fields)
    return roster(1, members)


def checked(wrong: tuple[int, ...] = (), other: tuple[int, ...] = (), number: int = 1) -> RosterChecked:
    return RosterChecked(number, [3, 0, 4, 1, 2], list(wrong), list(other))


def sealed(number: int = 1) -> SharesSealed:
    return SharesSealed(number, [word(place, 6, 80) for place in OTHERS])


def dealt(senders: list[int] = SENDERS, count: int | None = None, number: int = 1) -> MaskedFrame:
    length = len(senders) if count is None else count
    return says(Dealt(round=number, senders=senders, sealed=[word(one % 16, 7, 80) for one in range(length)]))


def opened(unopened: tuple[int, ...] = ()) -> SharesOpened:
    return SharesOpened(1, list(unopened))


def survivors(alive: list[int] = ALIVE) -> MaskedFrame:
    return says(Survivors(round=1, alive=alive))


def unmask(
    alive: list[int] = ALIVE, vouchers: list[int] | None = None, signatures: int | None = None
) -> MaskedFrame:
    named = vouchers or []
    count = len(named) if signatures is None else signatures
    signed = [word(one % 15, 8, 64) for one in range(count)]
    return says(Unmask(round=1, alive=alive, vouchers=named, signatures=signed))


def revealed(count: int = 4) -> RevealMade:
    return RevealMade(1, [word(one, 9) for one in range(count)])


def state(phase: str, number: int) -> MaskedFrame:
    frame = {
        "type": "state", "phase": phase, "round": number, "version": 0, "needed": 0, "cohort": 0,
        "reported": 0, "quorum": 1, "seconds": None, "participants": [],
    }  # fmt: skip
    return says(msgspec.convert(frame, State))


def version(number: int) -> MaskedFrame:
    made = Version(
        version=number, round=number, weights=WEIGHTS, accepted=4, examples=0, loss=0.0, metrics={}
    )
    return says(made)


def abandoned(number: int = 1) -> MaskedFrame:
    return says(Abandoned(round=number, reason="Too few updates arrived in time."))
