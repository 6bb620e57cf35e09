"""Partitions data that every client has in full, and names the parts.

Clients that fetch the same files number the examples alike. A part is an equal share of a shuffle of them,
so a server that never saw the files can assign parts by name. webapp/static/src/core/numerics/partition.ts
is the TypeScript twin; tests/contract/vectors/dealing.json tests both.
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
    """Returns 48 hexadecimal digits that identify files with these SHA-256, in this order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()[:_KEY]


def part_name(key: str, half: Half, number: int) -> str:
    """Returns the name of part `number` (from 0), as long as a SHA-256, which is the name of a shard."""
    return f"{key}{HALVES.index(half)}{number:0{_NUMBER}x}"


def parse_part(key: str, name: str) -> tuple[Half, int]:
    """Returns the half and number of the part `name`. Raises ValueError if `key`'s data have no such part."""
    match = _NAME.fullmatch(name)
    if match is None or match[1] != key:
        raise ValueError(f"{name[:12]} is no part of these data.")
    return HALVES[int(match[2])], int(match[3], 16)


@lru_cache(maxsize=2)
def _order(n: int) -> NDArray[np.int64]:
    order = permutation(0, 1, n)
    order.flags.writeable = False
    return order


def part_sizes(n: int, most: int) -> list[int]:
    """Returns the size of each part of `n` examples: the fewest parts of at most `most`, nearly equal."""
    parts = -(-n // most)
    return [(k + 1) * n // parts - k * n // parts for k in range(parts)]


def part_rows(n: int, most: int, number: int) -> NDArray[np.int64]:
    """Returns the numbers of the examples in part `number` of `n` examples.

    Examples are shuffled, because files are often sorted by class. Raises ValueError if there is no such
    part.
    """
    parts = -(-n // most)
    if not 0 <= number < parts:
        raise ValueError(f"There is no part {number} of {n} examples; there are {parts}.")
    return _order(n)[number * n // parts : (number + 1) * n // parts]
