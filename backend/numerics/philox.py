"""Random numbers and the order of examples, bit for bit the same on every client.

Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3), keyed as
TensorFlow's stateless random ops are. The TypeScript twins are philox.ts and batches.ts in
webapp/static/src/core/numerics/; tests/contract/vectors/philox.json and batches.json test that both
make the same values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_SCRAMBLE_KEY = (0x3EC8F720, 0x02461E29)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)

# Stream of the shuffle; the streams of the graph's random inputs are numbered from 0.
SHUFFLE_STREAM = 0xFFFFFFFF
# Below this, the products in `permutation` are exact in float64.
MAX_EXAMPLES = 2**21


def _philox(counter: NDArray[np.uint64], key: tuple[int, int]) -> NDArray[np.uint64]:
    """Applies ten rounds to counters [4, n]; returns words [4, n], each below 2**32."""
    c0, c1, c2, c3 = counter
    for number in range(_ROUNDS):
        key0, key1 = (np.uint64((key[i] + number * _WEYL[i]) & 0xFFFFFFFF) for i in range(2))
        product0, product1 = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1 = (product1 >> _SHIFT) ^ c1 ^ key0, product1 & _LOW
        c2, c3 = (product0 >> _SHIFT) ^ c3 ^ key1, product0 & _LOW
    return np.stack([c0, c1, c2, c3])


def words(seed: int, step: int, stream: int, n: int) -> NDArray[np.uint32]:
    """Returns the first `n` random 32-bit words of the draw named by (seed, step, stream).

    `seed` is below 2**64, `step` and `stream` below 2**32.
    """
    named = np.array([seed & 0xFFFFFFFF, seed >> 32, step, stream], dtype=np.uint64)[:, None]
    mix = [int(word) for word in _philox(named, _SCRAMBLE_KEY)[:, 0]]
    groups = (n + 3) // 4
    counter = np.zeros((4, groups), dtype=np.uint64)
    counter[0] = np.arange(groups, dtype=np.uint64)
    counter[2], counter[3] = mix[2], mix[3]
    return _philox(counter, (mix[0], mix[1])).T.reshape(-1)[:n].astype(np.uint32)


def uniform(seed: int, step: int, stream: int, n: int) -> NDArray[np.float32]:
    """Returns `n` float32 values in [0, 1): the low 23 bits of each word are the mantissa.

    Equals `tf.random.stateless_uniform([n], seed=[seed, step + 2**32 * stream], alg="philox")` to the bit.
    """
    mantissa = words(seed, step, stream, n) & np.uint32(0x7FFFFF)
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
