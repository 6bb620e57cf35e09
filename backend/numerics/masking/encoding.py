"""Encodes a client's contribution to a masked sum as whole numbers.

docs/reference/masked-rounds.md describes it under "Values". A value v of at most `bound` becomes one of the
whole numbers -levels..levels, rounded up or down at random so that its mean is v (stochastic rounding;
Bonawitz et al. 2019, "Federated learning with autotuned communication-efficient secure aggregation",
section 2). `levels` is so small that the sum of all members cannot wrap around. The TypeScript twin is
core/numerics/masking/encoding.ts; tests/contract/vectors/encoding.json tests that both make the same words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from backend.errors import NotFiniteError
from backend.numerics.aggregation.update_checks import check_finite
from backend.numerics.masking.bit_packing import FULL_BITS, Words, masked_bytes, masked_words
from backend.numerics.masking.rotation import BOUND_FACTOR, rotate, rotate_back, span
from backend.numerics.privacy.clipping import clip_factor, norm_of
from backend.numerics.vectors import BLOCK_VALUES, Vector, Vector64, blocks

# Room for noise on top of the sum, in its standard deviations: one draw in 10^23 lies beyond it.
NOISE_DEVIATIONS = 10
# The largest standard deviation of a share of the noise, in whole numbers (privacy/skellam.py).
MAX_SHARE_DEVIATION = 2.0**15
# The largest loss, or numerator or denominator per example, that can be encoded.
MAX_ENCODED = 1024.0
_UNIT = 2.0**-32


@dataclass(frozen=True)
class Encoding:
    """Encodes `parameters` values, clipped to the L2 norm `clip`, and further ones for `members` clients.

    Sums of parameters are modulo 2^`bits`; below 32 bits the update is rotated first. Each member may add its
    share of noise; the shares of any `sharers` members have the standard deviation `noise`, in clips. Raises
    ValueError if `bits` is too small for one level.
    """

    members: int
    parameters: int
    rows: int
    bits: int
    clip: float
    noise: float = 0.0
    sharers: int = 1

    def __post_init__(self) -> None:
        if self.levels < 1:
            raise ValueError(
                f"{self.members} clients and their noise do not fit into {self.bits} bits; take more bits."
            )

    @property
    def words(self) -> int:
        """The number of words of an update: one for each parameter and each further value."""
        return masked_words(self.parameters, self.rows)

    @property
    def bytes(self) -> int:
        """The number of bytes of a masked update as it is sent."""
        return masked_bytes(self.parameters, self.rows, self.bits)

    @property
    def rotated(self) -> bool:
        """Whether the update is rotated before it is rounded."""
        return self.bits < FULL_BITS

    @cached_property
    def bound(self) -> float:
        """The largest absolute value that can be encoded; of rotated values if the update is rotated."""
        if not self.rotated:
            return self.clip
        return self.clip * min(1.0, BOUND_FACTOR / math.sqrt(span(self.parameters)))

    @cached_property
    def levels(self) -> int:
        """The integer that represents `bound`: as large as `members` and the noise allow."""
        largest = (1 << (self.bits - 1)) - 1
        whole_noise = self.noise * math.sqrt(self.members / self.sharers)
        levels = largest / (self.members + NOISE_DEVIATIONS * whole_noise * self.clip / self.bound)
        if self.noise > 0.0:
            levels = min(
                levels, MAX_SHARE_DEVIATION * math.sqrt(self.sharers) * self.bound / (self.noise * self.clip)
            )
        return math.floor(levels)

    @property
    def step(self) -> float:
        """The value of one whole number."""
        return self.bound / self.levels

    @property
    def further_levels(self) -> int:
        """The integer that represents 1 among the further values; noise has half of the range."""
        return (2**31 - 1) // (2 * self.members)

    @property
    def share_variance(self) -> float:
        """The variance, in whole numbers, of the share of noise that a member adds to each parameter."""
        whole = self.noise * self.clip / self.step
        return min(whole * whole / self.sharers, MAX_SHARE_DEVIATION * MAX_SHARE_DEVIATION)

    @property
    def sensitivity(self) -> float:
        """The largest L2 norm of one client's whole numbers, however they are rounded."""
        return self.clip / self.step + math.sqrt(self.parameters)


@dataclass(frozen=True)
class MaskedContribution:
    """A client's contribution before encoding: `update` [parameters], weight in [0, 1], mean loss.

    Per example, `rows` [2 rows] has the numerator and denominator of each metric row in turn. If even the
    fact of clipping must stay hidden, the client is not `counted` among those that were not clipped.
    """

    update: Vector
    weight: float
    loss: float
    rows: Sequence[float]
    counted: bool = True


@dataclass(frozen=True)
class Decoded:
    """The decoded sum of a masked round.

    `mean` is the weighted mean of the clipped updates [parameters], `weight` the sum of the weights,
    `unclipped` the number of clients whose update was not clipped, `loss` the weighted mean, and `rows` the
    weighted sums of the metric rows per example.
    """

    mean: Vector
    weight: float
    unclipped: int
    loss: float
    rows: list[float]


@dataclass(frozen=True)
class Error:
    """Bounds the difference between a value of the mean and that of the clipped updates.

    `worst` bounds the difference itself, `deviation` its standard deviation.
    """

    worst: float
    deviation: float


def weight_of(examples: int, full: int) -> float:
    """Returns a client's weight: its `examples` as a fraction of `full`, at most 1."""
    return min(1.0, examples / full)


def contribution(
    update: Vector, examples: int, full: int, loss: float, sums: Sequence[float]
) -> MaskedContribution:
    """Returns the contribution of a client with `examples`, whose metrics counted `sums`.

    `sums` are numerators and denominators in turn. A client of `full` examples or more has the weight 1.
    """
    rows = [value / examples if examples else 0.0 for value in sums]
    return MaskedContribution(update, weight_of(examples, full), loss if examples else 0.0, rows)


def private_contribution(update: Vector, rows: int) -> MaskedContribution:
    """Returns the contribution of a client whose update alone is protected by noise: only the update."""
    return MaskedContribution(update, 1.0, 0.0, [0.0] * (2 * rows), counted=False)


def encode(
    encoding: Encoding, contribution: MaskedContribution, words: Words, signs: Words | None = None
) -> None:
    """Turns `words` [encoding.words], which must be uniformly random, into the encoded `contribution`.

    `signs` are the round's public random words for the rotation (`rotation.sign_words` of them), required if
    `encoding.rotated`. The initial random words must stay secret. Raises NotFiniteError for NaN or infinity
    and ValueError for another shape; `words` are then unchanged.
    """
    encoder = _word_encoder(encoding, contribution, words, signs)
    encoder.encode_values(slice(0, encoding.parameters), words[: encoding.parameters])
    encoder.encode_further(words[encoding.parameters :])


def add_encoded(
    encoding: Encoding,
    contribution: MaskedContribution,
    draw: Callable[[int, int], Words],
    words: Words,
    signs: Words | None = None,
) -> None:
    """Adds the encoded `contribution` to `words` [encoding.words], with the random words of `draw`.

    `draw(start, count)` returns `count` new random words, beginning with number `start`. Works block by
    block while they are in the cache: only a rotated update takes memory of the vector's length. Raises as
    `encode`.
    """
    encoder, first = _word_encoder(encoding, contribution, words, signs), encoding.parameters
    for part in blocks(first):
        drawn = draw(part.start, part.stop - part.start)
        encoder.encode_values(part, drawn)
        words[part] += drawn
    drawn = draw(first, len(words) - first)
    encoder.encode_further(drawn)
    words[first:] += drawn


@dataclass(frozen=True)
class _WordEncoder:
    """Encodes one client's values, each multiplied by its scale; the two in `exact` are not rounded."""

    values: Vector
    scale: float
    levels: int
    exact: tuple[int, int]
    shares: Vector64
    share_scale: float
    further_levels: int

    def encode_values(self, part: slice, words: Words) -> None:
        """Turns random words into the encoded values of `part`."""
        round_values(self.values[part], self.scale, self.levels, words)

    def encode_further(self, words: Words) -> None:
        """Turns random words into the encoded further values."""
        words[:2] = self.exact
        round_values(self.shares, self.share_scale, self.further_levels, words[2:])


def _word_encoder(
    encoding: Encoding, contribution: MaskedContribution, words: Words, signs: Words | None
) -> _WordEncoder:
    if len(words) != encoding.words or len(contribution.update) != encoding.parameters:
        raise ValueError(f"{len(contribution.update)} values do not go into {len(words)} words.")
    levels = encoding.further_levels
    whole = math.floor(contribution.weight * levels + 0.5)
    shares = _shares(encoding, contribution)
    factor = clip_factor(finite_norm(contribution.update), encoding.clip)
    weight = whole / levels
    return _WordEncoder(
        values=rotate(contribution.update, _needed(signs)) if encoding.rotated else contribution.update,
        scale=factor * weight / encoding.step,
        levels=encoding.levels,
        # Means are divided by the first; the second is counted.
        exact=(whole, levels if contribution.counted and factor == 1.0 else 0),
        shares=shares,
        share_scale=weight * levels,
        further_levels=levels,
    )


def finite_norm(update: Vector) -> float:
    """Returns the L2 norm of an update. Raises NotFiniteError for NaN and infinity."""
    norm = norm_of(update)
    if not math.isfinite(norm):
        raise NotFiniteError(
            "The update holds NaN or infinity. Lower the learning rate or try another backend."
        )
    return norm


def round_values(values: Vector | Vector64, scale: float, levels: int, words: Words) -> None:
    """Turns uniformly random `words` [n] into `values` [n] * `scale`, randomly rounded by them.

    Results are from -levels to levels. Each value is rounded on its own: a slice of a vector gives the same
    results as the whole vector.
    """
    size = min(len(values), BLOCK_VALUES)
    scaled, uniform = np.empty(size, np.float64), np.empty(size, np.float64)
    for part in blocks(len(values)):
        block, fractions = scaled[: part.stop - part.start], uniform[: part.stop - part.start]
        np.multiply(values[part], scale, out=block, dtype=np.float64)
        np.multiply(words[part], _UNIT, out=fractions, dtype=np.float64)
        block += fractions
        np.floor(block, out=block)
        np.clip(block, -levels, levels, out=block)
        words.view(np.int32)[part] = block


def decode(encoding: Encoding, words: Words, signs: Words | None = None) -> Decoded:
    """Decodes `words`, the sum of encoded contributions (modulo 2^bits for parameters).

    `words` are not changed. Raises ValueError if the sum of the weights is not positive.
    """
    further = words[encoding.parameters :].view(np.int32) / float(encoding.further_levels)
    weight = float(further[0])
    if weight <= 0:
        raise ValueError("The clients of this round trained on no examples; there is nothing to learn.")
    scale = encoding.step / weight
    mean = np.empty(encoding.parameters, np.float32)
    shift = FULL_BITS - encoding.bits
    for part in blocks(encoding.parameters):
        whole = (words[part] << np.uint32(shift)).view(np.int32) >> np.int32(shift)
        np.multiply(whole, scale, out=mean[part], dtype=np.float64, casting="same_kind")
    if encoding.rotated:
        mean = rotate_back(mean, _needed(signs))
    sums = further[2:] * MAX_ENCODED
    return Decoded(mean, weight, round(float(further[1])), float(sums[0]) / weight, sums[1:].tolist())


def error(encoding: Encoding, clients: int, weight: float) -> Error:
    """Returns how far rounding `clients` updates can move a value of their mean; `weight` sums up theirs.

    Each rounding error is less than a step, has the mean 0 and is independent of the others. A value that is
    rotated back collects the errors of all values; `worst` then also bounds the L2 norm of the whole error.
    Not included: rounding the mean to float32, and values over `bound` (`rotation.clamped`).
    """
    step = encoding.step / weight
    collected = math.sqrt(encoding.parameters) if encoding.rotated else 1.0
    return Error(clients * step * collected, math.sqrt(clients) * step / 2)


def _shares(encoding: Encoding, contribution: MaskedContribution) -> Vector64:
    """Returns loss and metric rows as fractions of the largest value that can be encoded."""
    if not 0.0 <= contribution.weight <= 1.0 or len(contribution.rows) != 2 * encoding.rows:
        raise ValueError(
            f"A weight of {contribution.weight} and {len(contribution.rows)}"
            " values of metrics cannot be told."
        )
    check_finite("loss", [contribution.loss])
    check_finite("metrics", contribution.rows)
    shares = [max(-MAX_ENCODED, min(MAX_ENCODED, contribution.loss)) / MAX_ENCODED]
    for row in range(encoding.rows):
        pair = contribution.rows[2 * row : 2 * row + 2]
        # If one is too large both are scaled down, so that their ratio is kept.
        largest = max(MAX_ENCODED, *map(abs, pair))
        shares += [value / largest for value in pair]
    return np.array(shares, np.float64)


def _needed(signs: Words | None) -> Words:
    if signs is None:
        raise ValueError("A rotated update needs the round's random signs.")
    return signs
