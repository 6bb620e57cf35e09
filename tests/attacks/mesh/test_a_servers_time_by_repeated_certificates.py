"""Gain: the time of a server, for which a member of a mesh shows it true certificates again and again."""

from __future__ import annotations

import time

from backend.crypto.certificates import weights_statement
from backend.crypto.client_keys import identity_key, sign
from backend.server.mesh.recorded_groups import RecordedGroups
from backend.stores.contracts import MeshGroupRecord
from backend.wire.mesh_messages import Certificate, Signed

BUNDLE, RUN = "b" * 64, "e" * 64
KEYS = {f"{number:016x}": bytes([number]) * 32 for number in range(1, 33)}
IDENTITIES = {client: identity_key(key) for client, key in KEYS.items()}
MEMBERS = list(KEYS)
FLOOD = 20


def certificate(number: int) -> Certificate:
    """Returns what all 32 members signed of a round that they made without the server."""
    group, weights = (1 << 40) + number, f"{number:064x}"
    statement = weights_statement("digits", BUNDLE, RUN, number, group, MEMBERS, weights)
    signatures = [
        Signed(client=one, identity=IDENTITIES[one], signature=sign(KEYS[one], statement)) for one in MEMBERS
    ]
    return Certificate(
        bundle=BUNDLE, run=RUN, round=number, group=group, weights=weights, survivors=MEMBERS,
        signatures=signatures,
    )  # fmt: skip


def test_certificates_that_were_verified_are_not_verified_again() -> None:
    members = {client: identity.hex() for client, identity in IDENTITIES.items()}
    groups = RecordedGroups("digits", BUNDLE, RUN, 2, 1, [MeshGroupRecord(1, 1024, members)])
    *chain, newest = [certificate(number) for number in range(2, 10)]

    def seconds() -> float:
        begin = time.process_time()
        proven = groups.prove(MEMBERS[0], IDENTITIES[MEMBERS[0]], newest, chain, 1)
        assert proven is not None
        return time.process_time() - begin

    first = seconds()
    assert sum(seconds() for _ in range(FLOOD)) < 0.5 * FLOOD * first
