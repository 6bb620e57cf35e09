"""Writes encoding.json: `python -m tests.contract.vectors.secagg.make_encoding`."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np

from backend.numerics import philox
from backend.numerics.masking.bit_packing import pack_update
from backend.numerics.masking.encoding import Encoding, MaskedContribution, encode
from backend.numerics.masking.rotation import sign_words
from tests.contract.vectors import write

# Terms; weight, loss and metric rows of a client; the largest value of its update.
CASES = [
    (Encoding(3, 5, 0, 32, 1.0), 1.0, 0.25, [], 0.25),
    (Encoding(5, 300, 1, 32, 8.0, noise=0.5, sharers=4), 0.4, 2.5, [0.75, 1.0], 4.0),
    (Encoding(100, 70_000, 2, 32, 100.0), 1 / 3, -3000.0, [0.5, 1.0, 5000.0, 1.25], 1.0),
    (Encoding(8, 1, 1, 16, 2.0), 1.0, 0.5, [1.0, 1.0], 1.0),
    (Encoding(12, 64, 1, 17, 1.5), 0.9, 0.5, [1.0, 1.0], 1.0),
    (Encoding(40, 1000, 0, 20, 10.0, noise=1.0, sharers=27), 0.7, 1.0, [], 2.0),
    (Encoding(9, 70_001, 1, 24, 50.0), 0.123, 0.01, [0.0, 1.0], 1.0),
    (Encoding(10, 4096, 0, 16, 1.0, noise=2.0, sharers=7), 1.0, 0.0, [], 1.0),
]
# So many words of a long case are kept; the others are told by their sum modulo 2^32.
KEPT = 200


def _case(number: int) -> dict[str, object]:
    encoding, weight, loss, rows, most = CASES[number]
    # Multiples of 1/256: their squares add up exactly, in whatever order.
    update = np.float32(256 * most) * (2 * philox.uniform(number, 1, 0, encoding.parameters) - 1)
    update = np.floor(update) / np.float32(256)
    words = philox.words(number, 2, 0, encoding.words)
    signs = philox.words(number, 3, 0, sign_words(encoding.parameters))
    encode(encoding, MaskedContribution(update, weight, loss, rows), words, signs)
    packed = pack_update(words, encoding.parameters, encoding.bits)
    return {
        **asdict(encoding),
        "share_variance": encoding.share_variance,
        "seed": number,
        "most": most,
        "weight": weight,
        "loss": loss,
        "told": rows,
        "first": words[:KEPT].tolist(),
        "last": words[-KEPT:].tolist(),
        "sum": int(words.sum(dtype=np.uint32)),
        "bytes": len(packed),
        "packed": packed[-KEPT:].hex(),
        "packed_sum": int(np.frombuffer(packed, np.uint8).sum()),
    }


def files() -> dict[str, str]:
    """The content of each file."""
    cases = [_case(number) for number in range(len(CASES))]
    return {"encoding.json": json.dumps(cases, indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
