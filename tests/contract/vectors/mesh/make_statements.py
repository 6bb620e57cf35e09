"""Writes statements.json: `python -m tests.contract.vectors.mesh.make_statements`."""

from __future__ import annotations

import json
from typing import Any

from backend.crypto.statements import (
    NOTHING_BEFORE,
    TurnOfRound,
    coin_commitment,
    heard_digest,
    relay,
    say,
    signed_bytes,
    tossed_coin,
)
from tests.contract.vectors import write

PRIVATE = bytes(range(32))
TURN = TurnOfRound("digits", "ab" * 32, 7, 1, bytes([7] * 32))
CLIENTS = {"00000000000000ff": bytes([1] * 32), "0000000000000abc": bytes([2] * 32)}
SALT = bytes([9] * 32)


def told() -> list[dict[str, Any]]:
    """Statements of one member in one turn, each after the one before."""
    cases, before = [], NOTHING_BEFORE
    for phase, body in (("commit", b"pieces"), ("made", b""), ("verdict", bytes(300))):
        statement = say(PRIVATE, TURN, phase, before, body)
        cases.append(
            {
                "phase": phase,
                "before": before.hex(),
                "body": body.hex(),
                "identity": statement.identity.hex(),
                "signed": signed_bytes(TURN, statement).hex(),
                "signature": statement.signature.hex(),
                "digest": statement.digest(TURN).hex(),
                "relayed": relay(PRIVATE, TURN, statement).hex(),
            }
        )
        before = statement.digest(TURN)
    return cases


def files() -> dict[str, str]:
    """The golden file and its content."""
    golden = {
        "private": PRIVATE.hex(),
        "turn": {"task": TURN.task, "run": TURN.run, "round": 7, "turn": 1, "basis": TURN.basis.hex()},
        "statements": told(),
        "salt": SALT.hex(),
        "coins": {client: coin.hex() for client, coin in CLIENTS.items()},
        "commitments": {
            client: coin_commitment(client, coin, SALT).hex() for client, coin in CLIENTS.items()
        },
        "tossed": tossed_coin(CLIENTS).hex(),
        "heard": heard_digest(CLIENTS.values()).hex(),
    }
    return {"statements.json": json.dumps(golden, indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
