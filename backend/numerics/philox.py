"""Random numbers and the order of examples, bit for bit the same on every client.

Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3), keyed as
TensorFlow's stateless random ops are. The TypeScript twins are philox.ts and batches.ts in
webapp/static/src/core/numerics/; tests/contract/vectors/philox.json and batches.json test that both
make the same values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_SCRAMBLE_KEY = np.array([0x3EC8F720, 0x02461E29], np.uint64)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)

# Stream of the shuffle; the streams of the graph's random inputs are numbered from 0.
SHUFFLE_STREAM = 0xFFFFFFFF
# Below this, the products in `permutation` are exact in float64.
MAX_EXAMPLES = 2**21


def _philox(counter: NDArray[np.uint64], key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Applies ten rounds to counters [4, ...] with keys [2, ...]; returns words [4, ...] below 2**32."""
    c0, c1, c2, c3 = counter
    for number in range(_ROUNDS):
        key0, key1 = ((key[i] + np.uint64(number * _WEYL[i])) & _LOW for i in range(2))
        product0, product1 = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1 = (product1 >> _SHIFT) ^ c1 ^ key0, product1 & _LOW
        c2, c3 = (product0 >> _SHIFT) ^ c3 ^ key1, product0 & _LOW
    return np.stack([c0, c1, c2, c3])


def words(seed: int, step: int, stream: int, n: int) -> NDArray[np.uint32]:
    """Returns the first `n` random 32-bit words of the draw named by (seed, step, stream).

    `seed` is below 2**64, `step` and `stream` below 2**32.
    """
    drawn: NDArray[np.uint32] = _words_of_steps(seed, [step], stream, n)[0]
    return drawn


def _words_of_steps(seed: int, steps: Sequence[int], stream: int, n: int) -> NDArray[np.uint32]:
    """Returns the words [steps, n] of several draws."""
    named = np.array([[seed & 0xFFFFFFFF, seed >> 32, step, stream] for step in steps], dtype=np.uint64).T
    mix = _philox(named, _SCRAMBLE_KEY)[:, :, None]
    counter = np.zeros((4, len(steps), (n + 3) // 4), dtype=np.uint64)
    counter[0] = np.arange(counter.shape[2], dtype=np.uint64)
    counter[2:] = mix[2:]
    drawn = _philox(counter, mix[:2]).transpose(1, 2, 0)
    return drawn.reshape(len(steps), -1)[:, :n].astype(np.uint32)


def uniform(seed: int, step: int, stream: int, n: int) -> NDArray[np.float32]:
    """Returns `n` float32 values in [0, 1): the low 23 bits of each word are the mantissa.

    Equals `tf.random.stateless_uniform([n], seed=[seed, step + 2**32 * stream], alg="philox")` to the bit.
    """
    drawn: NDArray[np.float32] = uniform_of_steps(seed, [step], stream, n)[0]
    return drawn


def uniform_of_steps(seed: int, steps: Sequence[int], stream: int, n: int) -> NDArray[np.float32]:
    """Returns the values [steps, n] of several draws, which takes hardly longer than one short draw."""
    mantissa = _words_of_steps(seed, steps, stream, n) & np.uint32(0x7FFFFF)
    return mantissa.astype(np.float32) * np.float32(2.0**-23)


def permutation(seed: int, epoch: int, n: int) -> NDArray[np.int64]:
    """Returns the order in which epoch `epoch` (from 1) visits `n` examples, numbered in shard order.

    Fisher-Yates shuffle (Durstenfeld 1964, algorithm 235). Raises ValueError for more than MAX_EXAMPLES.
    """
    if n > MAX_EXAMPLES:
        raise ValueError(
            f"A round may hold at most {MAX_EXAMPLES} examples per participant; plan fewer shards."
        )
    order = np.arange(n, dtype=np.int64)
    lasts = np.arange(n - 1, 0, -1)
    others = words(seed, epoch, SHUFFLE_STREAM, lasts.size) / 2.0**32 * (lasts + 1)
    for last, other in zip(lasts.tolist(), others.astype(np.int64).tolist(), strict=True):
        order[last], order[other] = order[other], order[last]
    return order


def batches(seed: int, epoch: int, n: int, batch_size: int) -> list[NDArray[np.int64]]:
    """Returns the example numbers of each batch of an epoch; all but the last have `batch_size`."""
    order = permutation(seed, epoch, n)
    return [order[start : start + batch_size] for start in range(0, n, batch_size)]
