"""What a client of a masked round adds to the sum: docs/reference/masked-rounds.md, "Values".

A value v of at most `bound` is told as one of the whole numbers -levels..levels, rounded up or down by chance
so that its mean is v (stochastic rounding; Bonawitz et al. 2019, "Federated learning with autotuned
communication-efficient secure aggregation", section 2). `levels` is so small that the sum of all members
cannot wrap. The TypeScript twin is core/numerics/masking/encoding.ts; tests/contract/vectors/encoding.json
holds both to the same words.
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

# Room for noise on top of the sum, in its standard deviations: beyond it lies one draw in 10^23.
NOISE_DEVIATIONS = 10
# Most that the standard deviation of a share of the noise can be, in whole numbers (privacy/skellam.py).
MOST_SHARE = 2.0**15
# Most that a loss, or a numerator or denominator per example, can be told as.
MOST_TOLD = 1024.0
_UNIT = 2.0**-32


@dataclass(frozen=True)
class Encoding:
    """How `members` clients tell `parameters` values, clipped to the L2 norm `clip`, and further ones.

    Sums of parameters are modulo 2^`bits`; below 32 bits the update is rotated first. Each member may add its
    share of noise, of which any `sharers` members' have the standard deviation `noise`, in clips. Raises
    ValueError where nothing can be told.
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
        """Words of an update: one a parameter, and one for each further value."""
        return masked_words(self.parameters, self.rows)

    @property
    def bytes(self) -> int:
        """Bytes of a masked update on its way."""
        return masked_bytes(self.parameters, self.rows, self.bits)

    @property
    def rotated(self) -> bool:
        """Whether the update is rotated before it is rounded."""
        return self.bits < FULL_BITS

    @cached_property
    def bound(self) -> float:
        """Most that a value, rotated where it is, can be told as."""
        if not self.rotated:
            return self.clip
        return self.clip * min(1.0, BOUND_FACTOR / math.sqrt(span(self.parameters)))

    @cached_property
    def levels(self) -> int:
        """Whole numbers up to `bound`: as many as `members` and the noise leave room for."""
        most = (1 << (self.bits - 1)) - 1
        whole_noise = self.noise * math.sqrt(self.members / self.sharers)
        levels = most / (self.members + NOISE_DEVIATIONS * whole_noise * self.clip / self.bound)
        if self.noise > 0.0:
            levels = min(levels, MOST_SHARE * math.sqrt(self.sharers) * self.bound / (self.noise * self.clip))
        return math.floor(levels)

    @property
    def step(self) -> float:
        """What one whole number is worth."""
        return self.bound / self.levels

    @property
    def further_levels(self) -> int:
        """As `levels`, for the further values, which leave half of the range to noise."""
        return (2**31 - 1) // (2 * self.members)

    @property
    def share_variance(self) -> float:
        """Variance, in whole numbers, of what a member adds to each parameter as its share of the noise."""
        whole = self.noise * self.clip / self.step
        return min(whole * whole / self.sharers, MOST_SHARE * MOST_SHARE)

    @property
    def sensitivity(self) -> float:
        """Most that the L2 norm of one client's whole numbers can be, whichever way they are rounded."""
        return self.clip / self.step + math.sqrt(self.parameters)


@dataclass(frozen=True)
class MaskedContribution:
    """What a client has to tell: its `update` [parameters], its weight in [0, 1], its mean loss.

    `rows` [2 rows] has the numerator and denominator of each metric row in turn, per example. Where not even
    that it was clipped may be known, it is not `counted` among those that were not.
    """

    update: Vector
    weight: float
    loss: float
    rows: Sequence[float]
    counted: bool = True


@dataclass(frozen=True)
class Decoded:
    """What the sum of a masked round says.

    `mean` is the weighted mean of the clipped updates [parameters], `weight` the sum of the weights,
    `unclipped` how many had nothing clipped, `loss` the weighted mean, and `rows` the weighted sums of what
    was told per example.
    """

    mean: Vector
    weight: float
    unclipped: int
    loss: float
    rows: list[float]


@dataclass(frozen=True)
class Error:
    """How far a value of the mean can be from that of the clipped updates.

    At most `worst`; `deviation` is the most that the standard deviation can be.
    """

    worst: float
    deviation: float


def weight_of(examples: int, full: int) -> float:
    """A client's weight: its `examples` as a fraction of those of a `full` one, at most 1."""
    return min(1.0, examples / full)


def contribution(
    update: Vector, examples: int, full: int, loss: float, sums: Sequence[float]
) -> MaskedContribution:
    """What a client with `examples` tells, whose metrics counted `sums` (numerators, denominators in turn).

    A client of `full` examples, or more, has the weight 1.
    """
    rows = [value / examples if examples else 0.0 for value in sums]
    return MaskedContribution(update, weight_of(examples, full), loss if examples else 0.0, rows)


def private_contribution(update: Vector, rows: int) -> MaskedContribution:
    """What a client tells where its update is all that is protected by noise: its update and nothing else."""
    return MaskedContribution(update, 1.0, 0.0, [0.0] * (2 * rows), counted=False)


def encode(encoding: Encoding, told: MaskedContribution, words: Words, signs: Words | None = None) -> None:
    """Turns `words` [encoding.words], which come as uniformly random ones, into those that tell `told`.

    `signs` are the round's public random words for the rotation (`rotation.sign_words` of them), needed where
    `encoding.rotated`. Nobody may learn the random words that came. Raises NotFiniteError for NaN or infinity
    and ValueError for another shape; `words` are then as before.
    """
    telling = _telling(encoding, told, words, signs)
    telling.tell_values(slice(0, encoding.parameters), words[: encoding.parameters])
    telling.tell_rest(words[encoding.parameters :])


def add_encoded(
    encoding: Encoding,
    told: MaskedContribution,
    draw: Callable[[int, int], Words],
    words: Words,
    signs: Words | None = None,
) -> None:
    """Adds to `words` [encoding.words] what `encode` makes of the random words that `draw` gives.

    `draw(start, count)` has `count` new ones, from the one numbered `start` on. Block by block, while they
    are in the cache: nothing of the vector's length is made but a rotated update. Raises as `encode`.
    """
    telling, first = _telling(encoding, told, words, signs), encoding.parameters
    for part in blocks(first):
        drawn = draw(part.start, part.stop - part.start)
        telling.tell_values(part, drawn)
        words[part] += drawn
    drawn = draw(first, len(words) - first)
    telling.tell_rest(drawn)
    words[first:] += drawn


@dataclass(frozen=True)
class _Telling:
    """One client's values and what they are multiplied by; those that `exact` has are told as they are."""

    values: Vector
    scale: float
    levels: int
    exact: tuple[int, int]
    shares: Vector64
    share_scale: float
    further_levels: int

    def tell_values(self, part: slice, words: Words) -> None:
        """Turns random words into the values of `part`."""
        round_values(self.values[part], self.scale, self.levels, words)

    def tell_rest(self, words: Words) -> None:
        """Turns random words into the further values."""
        words[:2] = self.exact
        round_values(self.shares, self.share_scale, self.further_levels, words[2:])


def _telling(encoding: Encoding, told: MaskedContribution, words: Words, signs: Words | None) -> _Telling:
    if len(words) != encoding.words or len(told.update) != encoding.parameters:
        raise ValueError(f"{len(told.update)} values do not go into {len(words)} words.")
    levels = encoding.further_levels
    whole = math.floor(told.weight * levels + 0.5)
    shares = _shares(encoding, told)
    factor = clip_factor(finite_norm(told.update), encoding.clip)
    weight = whole / levels
    return _Telling(
        values=rotate(told.update, _needed(signs)) if encoding.rotated else told.update,
        scale=factor * weight / encoding.step,
        levels=encoding.levels,
        # Means are divided by the one, and the other is counted.
        exact=(whole, levels if told.counted and factor == 1.0 else 0),
        shares=shares,
        share_scale=weight * levels,
        further_levels=levels,
    )


def finite_norm(update: Vector) -> float:
    """The L2 norm of an update. Raises NotFiniteError for NaN and infinity."""
    norm = norm_of(update)
    if not math.isfinite(norm):
        raise NotFiniteError(
            "The update holds NaN or infinity. Lower the learning rate or try another backend."
        )
    return norm


def round_values(values: Vector | Vector64, scale: float, levels: int, words: Words) -> None:
    """Turns uniformly random `words` [n] into `values` [n] * `scale`, rounded by them, within +-levels.

    Works in blocks, so that a slice of a vector gives what the vector gives there.
    """
    size = min(len(values), BLOCK_VALUES)
    scaled, chance = np.empty(size, np.float64), np.empty(size, np.float64)
    for part in blocks(len(values)):
        one, other = scaled[: part.stop - part.start], chance[: part.stop - part.start]
        np.multiply(values[part], scale, out=one, dtype=np.float64)
        np.multiply(words[part], _UNIT, out=other, dtype=np.float64)
        one += other
        np.floor(one, out=one)
        np.clip(one, -levels, levels, out=one)
        words.view(np.int32)[part] = one


def decode(encoding: Encoding, words: Words, signs: Words | None = None) -> Decoded:
    """What `words`, the sum of encoded ones (modulo 2^bits for parameters), say; `words` stay as they are.

    Raises ValueError when nobody had a weight.
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
    told = further[2:] * MOST_TOLD
    return Decoded(mean, weight, round(float(further[1])), float(told[0]) / weight, told[1:].tolist())


def error(encoding: Encoding, clients: int, weight: float) -> Error:
    """How far the rounding of `clients` updates can move a value of their mean; `weight` sums up theirs.

    Each is off by less than a step, with mean 0 and independently of the others. Rotated back, a value
    collects the errors of all; `worst` is then also the most that the L2 norm of the whole error can be.
    Not in it: float32, to which the mean is rounded, and values over `bound` (`rotation.clamped`).
    """
    step = encoding.step / weight
    collected = math.sqrt(encoding.parameters) if encoding.rotated else 1.0
    return Error(clients * step * collected, math.sqrt(clients) * step / 2)


def _shares(encoding: Encoding, told: MaskedContribution) -> Vector64:
    """Loss and metric rows as shares of the most that can be told."""
    if not 0.0 <= told.weight <= 1.0 or len(told.rows) != 2 * encoding.rows:
        raise ValueError(f"A weight of {told.weight} and {len(told.rows)} values of metrics cannot be told.")
    check_finite("loss", [told.loss])
    check_finite("metrics", told.rows)
    shares = [max(-MOST_TOLD, min(MOST_TOLD, told.loss)) / MOST_TOLD]
    for row in range(encoding.rows):
        pair = told.rows[2 * row : 2 * row + 2]
        # Made smaller together where one is too large: their ratio stays.
        most = max(MOST_TOLD, *map(abs, pair))
        shares += [value / most for value in pair]
    return np.array(shares, np.float64)


def _needed(signs: Words | None) -> Words:
    if signs is None:
        raise ValueError("A rotated update needs the round's random signs.")
    return signs
