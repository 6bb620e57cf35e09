"""Writes masked.json: the primitives of masked rounds, to which Python and TypeScript are held.

Run `python -m tests.contract.vectors.secagg.make_masked` after a change that is meant, and look at the
difference.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from backend.crypto import client_keys, derive, round_context, sealing, shamir
from backend.crypto.keystream import add_keystreams, keystream
from backend.crypto.masking import mask_keys
from backend.crypto.round_context import Terms
from backend.protocols.secagg.terms import Degree, degree, neighbours
from backend.wire.masked_messages import Member
from tests.contract.vectors import write

PLACE = Path(__file__).parents[1] / "masked.json"
TERMS = Terms(
    task="digits",
    bundle="0f" * 32,
    round=7,
    version=6,
    weights="a5" * 32,
    parameters=1210,
    rows=1,
    bits=32,
    clip=1.0,
    examples=100,
    noise=0.0,
    share=1.0,
    min_clients=3,
    server="honest",
)
OTHER_TERMS = replace(
    TERMS,
    task="größer & 学习",
    round=2**53 - 1,
    bits=20,
    clip=0.1,
    noise=1.25,
    share=0.3,
    min_clients=64,
    server="active",
)


def made(name: str, count: int = 32) -> bytes:
    """Bytes that stand for random ones, always the same for a name."""
    return hashlib.shake_256(f"minga test: {name}".encode()).digest(count)


def vectors() -> dict[str, Any]:
    """The content of masked.json."""
    return {
        "fields": [
            {"parts": [part.hex() for part in parts], "bytes": round_context.fields(*parts).hex()}
            for parts in ((), (b"",), (b"a", b"bc"), (b"ab", b"c"), (bytes(300), b"\xff"))
        ],
        "agreements": [_agreement(f"one {n}", f"other {n}") for n in range(3)],
        "bad_keys": BAD_KEYS,
        "signatures": _signatures(),
        "derived": _derived(),
        "keystreams": _keystreams(),
        "sealed": _sealed(),
        "shares": [_shares(f"{n}", holders, threshold) for n, holders, threshold in SHARED],
        "degrees": [
            {"members": members, "server": server, **degree(members, server)._asdict()}
            for server, sizes in SIZES.items()
            for members in sizes
        ],
        "rings": [_ring(members, count) for members, count in ((5, 4), (6, 2), (65, 28), (9, 4))],
        "cohorts": [
            _cohort(TERMS, 4, degree(4, "honest"), [0, 1, 2, 3]),
            _cohort(OTHER_TERMS, 5, degree(5, "active"), [0, 2, 3, 4]),
            _cohort(replace(TERMS, bits=24, rows=0), 7, Degree(4, 3), [0, 1, 2, 3, 5, 6]),
        ],
    }


# Of low order, the last by another name.
BAD_KEYS = [
    *(bytes([first, *bytes(31)]).hex() for first in (0, 1)),
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    *(bytes([first, *[0xFF] * 30, 0x7F]).hex() for first in (0xEC, 0xED, 0xEE)),
    "01" + "00" * 30 + "80",
]
SPARSE = (80, 100, 128, 160, 200, 256, 320, 400, 512, 640, 800, 1024, 1536)
SHARED: tuple[tuple[str, Sequence[int], int], ...] = (
    ("one for each", [0, 1, 2], 3),
    ("some", [4, 0, 7, 2, 9], 3),
    ("the secret itself", [3, 1], 1),
    ("far apart", [0, 4095, 2047, 1000, 63], 4),
    ("many", range(64), 43),
)
SIZES: dict[Any, Sequence[int]] = {
    "honest": [*range(3, 66), *(n + more for n in SPARSE for more in (0, 1)), 1000, 2048],
    "active": [3, 5, 64, 65, 100, 256],
}


def _agreement(one: str, other: str) -> dict[str, str]:
    public = client_keys.agreement_key(made(other))
    return {
        "private": made(one).hex(),
        "public": client_keys.agreement_key(made(one)).hex(),
        "other": public.hex(),
        "secret": client_keys.agree(made(one), public).hex(),
    }


def _signatures() -> list[dict[str, Any]]:
    cases = []
    for n, statement in enumerate((b"", made("a statement", 300))):
        private = made(f"identity {n}")
        public, signature = client_keys.identity_key(private), client_keys.sign(private, statement)
        bent = bytes([signature[0] ^ 1]) + signature[1:]
        tried = [(signature, statement), (bent, statement), (signature, statement + b"x")]
        cases += [
            {
                "private": private.hex(),
                "public": public.hex(),
                "statement": said.hex(),
                "signature": claimed.hex(),
                "valid": client_keys.verify(public, claimed, said),
            }
            for claimed, said in tried
        ]
    return cases


def _derived() -> list[dict[str, Any]]:
    secret, context = made("a secret"), made("a context")
    cases = [("own", (3, 3), derive.own_key(secret, context, 3))]
    for one, other in ((0, 1), (1, 0), (4095, 258)):
        cases += [
            ("sealing", (one, other), b"".join(derive.sealing_keys(secret, context, one, other))),
            ("pair", (one, other), derive.pair_key(secret, context, one, other)),
        ]
    return [
        {
            "purpose": purpose,
            "secret": secret.hex(),
            "context": context.hex(),
            "places": places,
            "key": key.hex(),
        }
        for purpose, places, key in cases
    ]


def _keystreams() -> list[dict[str, Any]]:
    cases = []
    # The third crosses pieces of 1 MiB; the last begins inside one.
    for n, (start, count) in enumerate(((0, 9), (4, 5), (0, 600_001), (262_140, 9))):
        words = keystream(made(f"mask {n}"), count, start)
        cases.append(
            {
                "key": made(f"mask {n}").hex(),
                "start": start,
                "count": count,
                "first": words[:9].tolist(),
                "sha256": hashlib.sha256(words.astype("<u4").tobytes()).hexdigest(),
            }
        )
    return cases


def _sealed() -> list[dict[str, Any]]:
    context, one, other = made("a context"), made("seed's share"), made("mask key's share")
    return [
        {
            "key": b"".join(keys).hex(),
            "context": context.hex(),
            "sender": sender,
            "receiver": receiver,
            "seed_share": one.hex(),
            "mask_share": other.hex(),
            "sealed": sealing.seal(keys, context, sender, receiver, one, other).hex(),
        }
        for n, (sender, receiver) in enumerate(((0, 1), (1, 0), (4095, 258)))
        for keys in [(made(f"sealing {n}"), made(f"sealing the other {n}"))]
    ]


def _shares(name: str, holders: Sequence[int], threshold: int) -> dict[str, Any]:
    secret, randomness = made(f"secret {name}"), made(name, shamir.randomness_bytes(threshold))
    if name == "some":
        # The largest number in the field, and a coefficient beyond it.
        secret = (shamir.PRIME - 1).to_bytes(32, "big")
        randomness = b"\xff" * 32 + randomness[32:]
    return {
        "secret": secret.hex(),
        "holders": list(holders),
        "threshold": threshold,
        "randomness": randomness.hex(),
        "shares": [share.hex() for share in shamir.split(secret, holders, threshold, randomness)],
    }


def _ring(members: int, count: int) -> dict[str, Any]:
    clients = [made(f"client {n}", 8).hex() for n in range(members)]
    order = round_context.ring(made("a context"), clients)
    return {
        "context": made("a context").hex(),
        "clients": clients,
        "ring": order,
        "degree": count,
        "neighbours": neighbours(order, count),
    }


def _cohort(terms: Terms, count: int, graph: Degree, dealt: Sequence[int]) -> dict[str, Any]:
    """Members of whom those in `dealt` gave shares and masked their values."""
    members = [_member(n) for n in range(count)]
    base = round_context.base_hash(terms)
    roster = round_context.roster_hash(base, members)
    context = round_context.context_hash(base, roster, count, graph.neighbours, graph.threshold)
    order = round_context.ring(context, [member.client for member in members])
    around = neighbours(order, graph.neighbours)
    values = [_values(n, terms.bits) for n in range(count)]
    return {
        "terms": asdict(terms),
        "base": base.hex(),
        "members": [
            {
                "client": member.client,
                "mask_private": made(f"mask key {n}").hex(),
                "share_private": made(f"share key {n}").hex(),
                "identity_private": made(f"identity key {n}").hex(),
                "seed": made(f"seed {n}").hex(),
                "mask_key": member.mask_key.hex(),
                "share_key": member.share_key.hex(),
                "seed_hash": member.seed_hash.hex(),
                "identity": member.identity.hex(),
                "keys_statement": _statement(base, member).hex(),
                "keys_signature": client_keys.sign(made(f"identity key {n}"), _statement(base, member)).hex(),
            }
            for n, member in enumerate(members)
        ],
        "roster": roster.hex(),
        "degree": graph.neighbours,
        "threshold": graph.threshold,
        "context": context.hex(),
        "ring": order,
        "neighbours": around,
        "dealt": list(dealt),
        "survivors_statement": round_context.survivors_statement(context, dealt).hex(),
        "values": [values[n] for n in dealt],
        "masked": [
            _masked(context, terms.bits, n, [other for other in around[n] if other in dealt], members)
            for n in dealt
        ],
        "sum": [sum(column) % 2**terms.bits for column in zip(*(values[n] for n in dealt), strict=True)],
    }


def _member(n: int) -> Member:
    return Member(
        client=made(f"client {n}", 8).hex(),
        mask_key=client_keys.agreement_key(made(f"mask key {n}")),
        share_key=client_keys.agreement_key(made(f"share key {n}")),
        seed_hash=hashlib.sha256(made(f"seed {n}")).digest(),
        identity=client_keys.identity_key(made(f"identity key {n}")),
        signature=bytes(64),
    )


def _statement(base: bytes, member: Member) -> bytes:
    return round_context.keys_statement(
        base, member.client, member.mask_key, member.share_key, member.seed_hash
    )


def _values(n: int, bits: int) -> list[int]:
    words = np.frombuffer(made(f"values {n}", 44), "<u4")
    return [int(word) % 2**bits for word in words]


def _masked(context: bytes, bits: int, owner: int, others: list[int], members: list[Member]) -> list[int]:
    words = np.array(_values(owner, bits), np.uint32)
    masks = mask_keys(
        context,
        owner,
        made(f"seed {owner}"),
        made(f"mask key {owner}"),
        {other: members[other].mask_key for other in others},
    )
    add_keystreams(words, masks)
    return [int(word) % 2**bits for word in words]


def files() -> dict[str, str]:
    """The content of each file."""
    return {PLACE.name: json.dumps(vectors(), indent=1, ensure_ascii=False) + "\n"}


if __name__ == "__main__":
    write(files())
