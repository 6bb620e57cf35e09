"""Seeded mutations: of values, before they are written, and of the bytes that were written."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec

# Numbers next to where types and limits end.
EDGES = [0, 1, 2, 127, 128, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 - 1, 2**53]
EDGES += [2**63 - 1, 2**64 - 1, *(-edge for edge in (1, 2, 32, 33, 2**31, 2**53, 2**63))]
FLOATS = [0.5, -0.0, 1e-320, 1e30, 1e308, float("inf"), float("-inf"), float("nan")]
TEXTS = [
    "",
    "a",
    "type",
    "\x00",
    "é",
    "\U0001f600",
    "../..",
    "a" * 65,
    "a" * 501,
    "0" * 64,
    "%s",
    "__proto__",
]
# First bytes of msgpack's long forms, and of protobuf's fields.
HEADS = bytes([0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, *range(0xC0, 0xE0), 0xFF, 0x00, 0x08, 0x0A, 0x12, 0x7F])
LONGEST = 1 << 16


class Mutator:
    """Makes inputs out of good ones: values of `seeds` that `write` turns into bytes."""

    def __init__(self, random: Random, seeds: Sequence[Any], write: Callable[[Any], bytes]) -> None:
        self._random = random
        self._seeds = seeds
        self._write = write
        self._written = [write(seed) for seed in seeds]

    def make(self) -> bytes:
        """One input."""
        random = self._random
        match random.randrange(12):
            case 0:
                return random.randbytes(random.randrange(200))
            case 1 | 2 | 3 | 4:
                return self.change_bytes(random.choice(self._written))
            case 5:
                return self.change_bytes(self._changed())
        return self._changed()

    def _changed(self) -> bytes:
        value = copy.deepcopy(self._random.choice(self._seeds))
        for _ in range(self._random.choice([1, 1, 1, 2, 3])):
            value = self.change(value)
        try:
            return self._write(value)
        except (OverflowError, UnicodeEncodeError, TypeError, msgspec.EncodeError):
            return self.change_bytes(self._random.choice(self._written))

    def change(self, value: Any) -> Any:
        """`value` with a change somewhere in it."""
        random = self._random
        if isinstance(value, dict) and value and random.random() < 0.97:
            key = random.choice(list(value))
            match random.randrange(16):
                case 0:
                    del value[key]
                case 1:
                    value[self._text()] = self._anything()
                case 2 | 3 | 4:
                    value[key] = self._elsewhere(key)
                case _:
                    value[key] = self.change(value[key])
            return value
        if isinstance(value, list) and value and random.random() < 0.95:
            at = random.randrange(len(value))
            match random.randrange(6):
                case 0:
                    del value[at]
                case 1:
                    value.insert(at, copy.deepcopy(value[at]))
                case 2:
                    value += [value[at]] * random.choice([1, 10, 300])
                case _:
                    value[at] = self.change(value[at])
            return value
        if isinstance(value, bytes) and random.random() < 0.7:
            return self.change_bytes(value)
        if isinstance(value, int) and not isinstance(value, bool) and random.random() < 0.8:
            return random.choice([value - 1, value + 1, *EDGES])
        if isinstance(value, float) and random.random() < 0.8:
            return random.choice(FLOATS)
        if isinstance(value, str) and value and random.random() < 0.7:
            return value.replace(random.choice(value), random.choice(["0", "b", "-", "", "\n"]), 1)
        return self._anything()

    def _elsewhere(self, key: str) -> Any:
        """What another seed has in that place."""
        other = self._random.choice(self._seeds)
        found = other.get(key, self._anything()) if isinstance(other, dict) else other
        return copy.deepcopy(found)

    def _anything(self) -> Any:
        random = self._random
        match random.randrange(9):
            case 0 | 1 | 2:
                return random.choice(EDGES)
            case 3:
                return random.choice(FLOATS)
            case 4:
                return self._text()
            case 5:
                return random.choice([None, True, False])
            case 6:
                return random.randbytes(random.choice([0, 1, 4, 64]))
            case 7:
                return [self._anything() for _ in range(random.randrange(3))]
        return {self._text(): self._anything()}

    def _text(self) -> str:
        return self._random.choice(TEXTS)

    def change_bytes(self, data: bytes) -> bytes:
        """`data` with a few changes, and not longer than LONGEST unless it was."""
        random, out = self._random, bytearray(data)
        for _ in range(random.choice([1, 1, 2, 4])):
            at = random.randrange(len(out) + 1)
            match random.randrange(8):
                case 0 if at < len(out):
                    out[at] ^= 1 << random.randrange(8)
                case 1 if at < len(out):
                    out[at] = random.choice(HEADS)
                case 2:
                    out[at:at] = random.randbytes(random.choice([1, 2, 8]))
                case 3:
                    del out[at : at + random.choice([1, 2, 4, 16])]
                case 4:
                    del out[at:]
                case 5:
                    out[at : at + 4] = random.choice(EDGES[:13]).to_bytes(8, "big")[-4:]
                case 6:
                    other = random.choice(self._written) if self._written else b""
                    out[at:] = other[random.randrange(len(other) + 1) :]
                case _ if len(out) < LONGEST:
                    out[at:at] = out[at : at + 32] * random.choice([1, 2, 50])
        return bytes(out[: max(LONGEST, len(data))])
