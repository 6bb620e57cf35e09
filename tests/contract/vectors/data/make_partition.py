"""Writes dealing.json: `python -m tests.contract.vectors.data.make_partition`."""

from __future__ import annotations

import hashlib
import json

import msgspec
import numpy as np

from backend.numerics.partition import HALVES, data_key, part_name, part_rows, part_sizes
from backend.numerics.philox import permutation
from backend.numerics.preprocess.declared import DeclaredClass, DeclaredNumber, DeclaredTable
from backend.numerics.preprocess.fitting import resolve
from tests.contract.vectors import write

# So many examples, at most so many in a part.
CASES = [(1, 1), (7, 10), (10, 3), (16, 16), (23, 5), (1000, 64)]
ROWS, HOLDOUT, MOST = 37, 0.2, 8


def _case(n: int, most: int) -> dict[str, object]:
    sizes = part_sizes(n, most)
    parts = [part_rows(n, most, number).tolist() for number in range(len(sizes))]
    return {"examples": n, "most": most, "sizes": sizes, "parts": parts}


def _whole() -> dict[str, object]:
    """A table, from its bytes to the numbers in each part: made without what peers and pages read it with."""
    table = DeclaredTable(
        columns=[DeclaredNumber(name="value")], labels=[DeclaredClass(name="odd", classes=["0", "1"])]
    )
    text = "value,odd\n" + "".join(f"{row},{row % 2}\n" for row in range(ROWS))
    held = set(permutation(0, 0, ROWS)[: int(ROWS * HOLDOUT)].tolist())
    halves = {"train": [row for row in range(ROWS) if row not in held], "held-out": sorted(held)}
    parts = {
        half: [
            np.array(rows)[part_rows(len(rows), MOST, number)].tolist()
            for number in range(len(part_sizes(len(rows), MOST)))
        ]
        for half, rows in halves.items()
    }
    key = data_key([hashlib.sha256(text.encode()).hexdigest()])
    names = {half: [part_name(key, half, n) for n in range(len(parts[half]))] for half in HALVES}
    fitted = msgspec.to_builtins(resolve(table))
    return {
        "text": text,
        "preprocess": fitted,
        "holdout": HOLDOUT,
        "most": MOST,
        "names": names,
        "values": parts,
    }


def files() -> dict[str, str]:
    """The content of each file."""
    hashes = [hashlib.sha256(bytes([n])).hexdigest() for n in range(3)]
    keys = [{"hashes": hashes[:n], "key": data_key(hashes[:n])} for n in (1, 2, 3)]
    key = data_key(hashes)
    names = [
        {"key": key, "half": half, "number": number, "name": part_name(key, half, number)}
        for half in HALVES
        for number in (0, 9, 10, 99_999)
    ]
    cases = [_case(*case) for case in CASES]
    told = {"keys": keys, "names": names, "parts": cases, "whole": _whole()}
    return {"dealing.json": json.dumps(told) + "\n"}


if __name__ == "__main__":
    write(files())
