"""The state that a Byzantine mesh begins with: its founders have the seats."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from backend.crypto.round_context import fields
from backend.protocols.mesh.byzantine.membership import MeshMembership, SeatedMember
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_messages import ByzantineRules

NO_SLOTS = hashlib.sha256(b"").digest()


def rules_digest(rules: ByzantineRules) -> bytes:
    """Returns the SHA-256 of the rules, 32 bytes."""
    return hashlib.sha256(fields(b"minga/mesh/1/rules", msgspec.msgpack.encode(rules))).digest()


def first_coin(rules: ByzantineRules) -> bytes:
    """Returns the coin of the first round, which nobody tossed: it draws examples, and no validators."""
    return hashlib.sha256(fields(b"minga/mesh/1/first", rules_digest(rules))).digest()


def first_state(rules: ByzantineRules, weights: bytes, founders: Mapping[str, bytes]) -> AgreedState:
    """Returns the state before the first round from `weights` (SHA-256); `founders` are identities by client.

    The optimizer has no momentum yet.
    """
    seats = tuple(SeatedMember(client, founders[client]) for client in sorted(founders))
    return AgreedState(
        round=0,
        weights=weights,
        slots=NO_SLOTS,
        coin=first_coin(rules),
        radius=rules.terms.radius or 0.0,
        membership=MeshMembership(seats),
        rules=rules_digest(rules),
    )
