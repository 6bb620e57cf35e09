"""Writes sparse.json: `python -m tests.contract.vectors.secagg.make_sparse`."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from backend.crypto.derive import choice_key
from backend.crypto.keystream import keystream
from backend.numerics.masking.sparse import block_count, choose, chosen_values
from tests.contract.vectors import write

# So many parameters, of which such a share is sent.
CASES = [(1, 0.5), (63, 0.1), (64, 0.01), (1000, 0.25), (7490, 0.1), (70_001, 0.3), (70_016, 0.999)]


def _case(parameters: int, share: float) -> dict[str, object]:
    context = hashlib.sha256(f"{parameters} {share}".encode()).digest()
    key = choice_key(context)
    words = keystream(key, block_count(parameters))
    return {
        "parameters": parameters,
        "share": share,
        "context": context.hex(),
        "key": key.hex(),
        "values": chosen_values(parameters, share),
        "blocks": choose(parameters, share, words).blocks.tolist(),
    }


def files() -> dict[str, str]:
    """The content of each file."""
    cases = [_case(*case) for case in CASES]
    # Words of few values, so that many are the same.
    words = [(7 * n * n) % 5 for n in range(100)]
    blocks = choose(6400, 0.5, np.array(words, np.uint32)).blocks.tolist()
    same = {"parameters": 6400, "share": 0.5, "words": words, "blocks": blocks}
    return {"sparse.json": json.dumps({"drawn": cases, "same_words": same}) + "\n"}


if __name__ == "__main__":
    write(files())
