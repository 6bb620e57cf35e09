"""The context of a masked round: the hashes that enter every key derivation and signature of it.

Clients that received different models, rosters or terms compute different hashes and derive masks that
never cancel, so that a server which treats clients differently gets noise (Pasquini et al. 2022, "Eluding
secure aggregation in federated learning via model inconsistency").
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

HASH_BYTES = 32
_length = struct.Struct("<I").pack


class MemberKeys(Protocol):
    """A client's public keys of one round, raw; `backend.wire.masked_messages.Member` is one."""

    @property
    def client(self) -> str: ...
    @property
    def mask_key(self) -> bytes: ...
    @property
    def share_key(self) -> bytes: ...
    @property
    def seed_hash(self) -> bytes: ...
    @property
    def identity(self) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a round, which a client knows before it sends keys.

    `bundle` and `weights` are SHA-256 in hexadecimal, as on the wire; `parameters` and `rows` count the
    model's values and its metric rows. The others are those of `backend.wire.masked_messages.Masking`.
    """

    task: str
    bundle: str
    round: int
    version: int
    weights: str
    parameters: int
    rows: int
    bits: int
    clip: float
    examples: int
    noise: float
    share: float
    min_clients: int
    server: str


def fields(*parts: bytes) -> bytes:
    """Returns the parts, each after its length in 4 little-endian bytes: an injective encoding."""
    pieces = list[bytes]()
    for part in parts:
        pieces.append(_length(len(part)))
        pieces.append(part)
    return b"".join(pieces)


def integer(number: int) -> bytes:
    """Returns a number below 2**64 as 8 little-endian bytes."""
    return number.to_bytes(8, "little")


def place(number: int) -> bytes:
    """Returns a place in the roster as 4 little-endian bytes."""
    return number.to_bytes(4, "little")


def base_hash(terms: Terms) -> bytes:
    """Returns the hash of the terms, which are known before the roster."""
    return _hash(
        b"minga/masked/1/base",
        terms.task.encode(),
        bytes.fromhex(terms.bundle),
        integer(terms.round),
        integer(terms.version),
        bytes.fromhex(terms.weights),
        integer(terms.parameters),
        integer(terms.rows),
        integer(terms.bits),
        struct.pack("<d", terms.clip),
        integer(terms.examples),
        struct.pack("<d", terms.noise),
        struct.pack("<d", terms.share),
        integer(terms.min_clients),
        terms.server.encode(),
    )


def roster_hash(base: bytes, members: Iterable[MemberKeys]) -> bytes:
    """Returns the hash of `base` and of all members' keys, in the order of their places."""
    keys = [
        part
        for member in members
        for part in (
            member.client.encode(),
            member.mask_key,
            member.share_key,
            member.seed_hash,
            member.identity,
        )
    ]
    return _hash(b"minga/masked/1/roster", base, *keys)


def context_hash(base: bytes, roster: bytes, members: int, degree: int, threshold: int) -> bytes:
    """Returns the round's context: terms, roster, and the graph where each member has `degree` neighbours."""
    return _hash(
        b"minga/masked/1/context", base, roster, integer(members), integer(degree), integer(threshold)
    )


def keys_statement(base: bytes, client: str, mask_key: bytes, share_key: bytes, seed_hash: bytes) -> bytes:
    """Returns the bytes that a client signs when it sends its keys."""
    return fields(b"minga/masked/1/keys", base, client.encode(), mask_key, share_key, seed_hash)


def survivors_statement(context: bytes, alive: Sequence[int]) -> bytes:
    """Returns the bytes that a client signs in the consistency check; `alive` are ascending places."""
    return fields(b"minga/masked/1/survivors", context, b"".join(place(number) for number in alive))


def ring(context: bytes, clients: Sequence[str]) -> list[int]:
    """Returns the places of `clients` in the order of the ring, in which no party can choose neighbours."""
    return sorted(
        range(len(clients)),
        key=lambda number: _hash(b"minga/masked/1/ring", context, clients[number].encode()),
    )


def _hash(*parts: bytes) -> bytes:
    return hashlib.sha256(fields(*parts)).digest()
