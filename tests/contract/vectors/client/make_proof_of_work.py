"""Writes proof_of_work.json: `python -m tests.contract.vectors.client.make_proof_of_work`."""

from __future__ import annotations

import json

from backend.crypto.proof_of_work import PARTS, search
from tests.contract.vectors import write

# Seeds, difficulties, and the nonce from which the search starts.
CASES = [("00" * 32, 5, 0), ("5a" * 32, 8, 0), ("01" * 31 + "ff", 14, 0), ("ff" * 32, 12, 2**40 + 2**32 - 5)]


def files() -> dict[str, str]:
    """The content of each file."""
    cases = []
    for seed, bits, first in CASES:
        nonces = [search(bytes.fromhex(seed), part, bits, first, 1 << 20) for part in range(PARTS)]
        cases.append({"seed": seed, "bits": bits, "first": first, "nonces": nonces})
    return {"proof_of_work.json": json.dumps(cases, indent=2) + "\n"}


if __name__ == "__main__":
    write(files())
