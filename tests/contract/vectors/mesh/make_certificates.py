"""Writes certificates.json: certified weights and chains, to which Python and TypeScript are held.

Run `python -m tests.contract.vectors.mesh.make_certificates` after a change that is meant, and look at the
difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from backend.crypto.certificate_chain import MOST_ROUNDS_AHEAD, link
from backend.crypto.certificates import weights_statement
from backend.crypto.client_keys import identity_key, sign
from backend.wire.mesh_messages import Certificate, Signed
from tests.contract.vectors import write

FILE = Path(__file__).parents[1] / "certificates.json"
TASK, BUNDLE, RUN, WEIGHTS = "digits", "b" * 64, "e" * 64, "a" * 64
# Out of order, as a group's places are.
PEERS = {f"{number:016x}": bytes([number]) * 32 for number in (3, 1, 4, 2)}


def certificate(number: int, survivors: str, signers: str) -> Certificate:
    """A certificate of peers that are named by digits; its signatures are not valid."""
    named = [Signed(client=one.zfill(16), identity=bytes(32), signature=bytes(64)) for one in signers]
    return Certificate(
        bundle=BUNDLE,
        run=RUN,
        round=number,
        group=0,
        weights=WEIGHTS,
        survivors=[one.zfill(16) for one in survivors],
        signatures=named,
    )


FAR = MOST_ROUNDS_AHEAD
# What proved the weights before, oldest first, and the next certificate: round, survivors, signers.
CHAINS: dict[str, list[tuple[int, str, str]]] = {
    "the first certificate": [(1, "123", "12")],
    "one that follows from the first": [(1, "12345", "123"), (2, "12345", "123")],
    "the ones between are left out": [(1, "12345", "123"), (2, "1234", "123"), (3, "1234", "123")],
    "survivors that left make a link": [(1, "12345", "123"), (2, "123", "123"), (3, "123", "12")],
    "half of the survivors are too few": [(1, "1234", "123"), (2, "123", "123"), (3, "12", "12")],
    "signers that were no survivors": [(1, "123", "12"), (2, "145", "145"), (3, "145", "145")],
    "as far ahead as may be": [(1, "123", "12"), (2, "123", "12"), (1 + FAR, "123", "12")],
    "too far ahead of the first": [(1, "123", "12"), (2, "123", "12"), (2 + FAR, "123", "12")],
}


def chain(*certificates: tuple[int, str, str]) -> dict[str, Any]:
    """A case: the certificates, and the rounds of those that prove the last one."""
    links = [certificate(*each) for each in certificates]
    told = [{"round": number, "survivors": who, "signers": by} for number, who, by in certificates]
    return {"certificates": told, "linked": [each.round for each in link(links[:-1], links[-1])]}


def vectors() -> dict[str, Any]:
    """The content of certificates.json; bytes are in hexadecimal."""
    statement = weights_statement(TASK, BUNDLE, RUN, 3, 1025, PEERS, WEIGHTS)
    signatures = [
        {"client": one, "identity": identity_key(key).hex(), "signature": sign(key, statement).hex()}
        for one, key in sorted(PEERS.items())
    ]
    of = {"bundle": BUNDLE, "run": RUN}
    ending = {**of, "round": 3, "group": 1025, "weights": WEIGHTS, "survivors": list(PEERS)}
    chains = {name: chain(*certificates) for name, certificates in CHAINS.items()}
    return {
        "task": TASK,
        "ending": ending,
        "statement": statement.hex(),
        "signatures": signatures,
        "chains": chains,
    }


def files() -> dict[str, str]:
    """The content of each file."""
    return {FILE.name: json.dumps(vectors(), indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
