"""Writes certificates.json: a group's certified weights, to which Python and TypeScript are held.

Run `python -m tests.contract.vectors.mesh.make_certificates` after a change that is meant, and look at the
difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from backend.crypto.certificates import weights_statement
from backend.crypto.client_keys import identity_key, sign
from tests.contract.vectors import write

FILE = Path(__file__).parents[1] / "certificates.json"
TASK, BUNDLE, WEIGHTS = "digits", "b" * 64, "a" * 64
# Out of order, as a group's places are.
PEERS = {f"{number:016x}": bytes([number]) * 32 for number in (3, 1, 4, 2)}


def vectors() -> dict[str, Any]:
    """The content of certificates.json; bytes are in hexadecimal."""
    statement = weights_statement(TASK, BUNDLE, 3, 1025, PEERS, WEIGHTS)
    signatures = [
        {"client": one, "identity": identity_key(key).hex(), "signature": sign(key, statement).hex()}
        for one, key in sorted(PEERS.items())
    ]
    ending = {"bundle": BUNDLE, "round": 3, "group": 1025, "weights": WEIGHTS, "survivors": list(PEERS)}
    return {"task": TASK, "ending": ending, "statement": statement.hex(), "signatures": signatures}


def files() -> dict[str, str]:
    """The content of each file."""
    return {FILE.name: json.dumps(vectors(), indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
