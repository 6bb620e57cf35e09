"""Parts of data that every client has as a whole: which examples a part is, and how it is called.

Clients that fetch the same files number the same examples. A part is an equal share of a shuffle of them, so
a server that never saw the files can deal parts out by name. webapp/static/src/core/numerics/partition.ts is
the TypeScript twin; both are held to tests/contract/vectors/dealing.json.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from backend.numerics.philox import permutation

Half = Literal["train", "held-out"]

HALVES: tuple[Half, ...] = ("train", "held-out")
_KEY, _NUMBER = 48, 15
_NAME = re.compile(rf"([0-9a-f]{{{_KEY}}})([01])([0-9a-f]{{{_NUMBER}}})")


def data_key(hashes: Sequence[str]) -> str:
    """48 hexadecimal digits that stand for files of these SHA-256, in this order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()[:_KEY]


def part_name(key: str, half: Half, number: int) -> str:
    """Name of part `number` (from 0): as long as a SHA-256, so that it stands where shards have theirs."""
    return f"{key}{HALVES.index(half)}{number:0{_NUMBER}x}"


def parse_part(key: str, name: str) -> tuple[Half, int]:
    """Which part `name` is. Raises ValueError where it is none of the data of `key`."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] != key:
        raise ValueError(f"{name[:12]} is no part of these data.")
    return HALVES[int(found[2])], int(found[3], 16)


@lru_cache(maxsize=2)
def _order(n: int) -> NDArray[np.int64]:
    order = permutation(0, 1, n)
    order.flags.writeable = False
    return order


def part_sizes(n: int, most: int) -> list[int]:
    """Examples of each part of `n`: as few parts as hold at most `most` each, of nearly equal size."""
    parts = -(-n // most)
    return [(k + 1) * n // parts - k * n // parts for k in range(parts)]


def part_rows(n: int, most: int, number: int) -> NDArray[np.int64]:
    """The examples of part `number`, of `n` that are numbered from 0 in their order.

    Files lie in order of their classes more often than not, hence the shuffle. Raises ValueError where there
    is no such part.
    """
    parts = -(-n // most)
    if not 0 <= number < parts:
        raise ValueError(f"There is no part {number} of {n} examples; there are {parts}.")
    return _order(n)[number * n // parts : (number + 1) * n // parts]
