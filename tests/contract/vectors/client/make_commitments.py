"""Writes commitments.json: `python -m tests.contract.vectors.client.make_commitments`."""

from __future__ import annotations

import json

import numpy as np

from backend.crypto.result_commitments import result_commitment
from tests.contract.vectors import write

CASES = [
    ("00" * 32, "0123456789abcdef", 1, []),
    ("5a" * 32, "0123456789abcdef", 7, [0.0, -0.0, 1.5]),
    ("5a" * 32, "fedcba9876543210", 7, [0.0, -0.0, 1.5]),
    ("ff" * 32, "0123456789abcdef", 2**53 - 1, [1e-45, 3.4e38]),
]


def files() -> dict[str, str]:
    """The content of each file."""
    cases = []
    for salt, client, lease, values in CASES:
        update = np.array(values, "<f4").tobytes()
        made = result_commitment(bytes.fromhex(salt), client, lease, update).hex()
        case = {"salt": salt, "client": client, "lease": lease, "update": update.hex(), "commitment": made}
        cases.append(case)
    return {"commitments.json": json.dumps(cases, indent=2) + "\n"}


if __name__ == "__main__":
    write(files())
