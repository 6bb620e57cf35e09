"""Reconstructs pictures from a gradient: three attacks of the literature, each by its own optimizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from backend.lab.leakage.matching import Distance, GradientMatcher, Pixels

Floats = NDArray[np.float64]
# Adam's decay rates, and the standard deviation of a first guess, in half ranges of a pixel.
_BETA_1, _BETA_2, _GUESS = 0.9, 0.999, 0.3
# Pictures are made smaller down to this side, and are so much smoother then.
_SMALLEST_SIDE, _SMALL_SMOOTHNESS = 8, 10.0


@dataclass(frozen=True)
class PixelRange:
    """The least and the largest value of a pixel in each channel [channels], as the model takes them."""

    low: Floats
    high: Floats

    def guess(self, count: int, shape: Sequence[int], generator: np.random.Generator) -> Pixels:
        """Returns random first pictures [count, *shape] around the middle of the range."""
        noise = _GUESS * generator.standard_normal((count, *shape))
        return ((self.low + self.high) / 2 + noise * (self.high - self.low) / 2).astype(np.float32)

    def clip(self, x: Pixels) -> Pixels:
        """Returns the pictures with every value inside the range."""
        clipped: Pixels = np.clip(x, self.low, self.high).astype(np.float32)
        return clipped

    def levels(self, x: Pixels) -> Floats:
        """Returns the pictures as levels from 0 to 1."""
        span = np.maximum(self.high - self.low, np.finfo(np.float64).tiny)
        levels: Floats = np.clip((x - self.low) / span, 0.0, 1.0)
        return levels


@dataclass(frozen=True)
class AttackEffort:
    """How long attacks search: steps of Adam, evaluations of L-BFGS, first guesses; and their settings.

    `rate` is Adam's, in half ranges of a pixel; it falls to 0 by a cosine.
    """

    steps: int = 1000
    evaluations: int = 300
    guesses: int = 2
    rate: float = 0.1
    total_variation: float = 0.02


def deep_leakage(
    matcher: GradientMatcher, classes: int, pixels: PixelRange, effort: AttackEffort, seed: int
) -> tuple[Pixels, int]:
    """Returns one picture [1, ...] and its label by Deep Leakage from Gradients (Zhu et al. 2019, alg. 1).

    Pictures and a soft label are optimized together by L-BFGS. The graphs take whole labels; since the loss
    is linear in a soft label, its gradient is the mean of those of all classes, weighted by the label: each
    class has a row. The matcher must have at least `classes` rows.
    """
    distance = matcher.squares(range(classes), [0] * classes)
    size = int(np.prod(matcher.shape))

    def value(point: Floats) -> tuple[float, Floats]:
        x = np.repeat(point[:size].reshape(1, *matcher.shape), classes, axis=0).astype(np.float32)
        soft = _softmax(point[size:])
        # The graph divides the weighted losses by the number of rows.
        found, by_x, by_weights = distance(x, (classes * soft).astype(np.float32))
        by_soft = classes * by_weights.astype(np.float64)
        by_label = soft * (by_soft - float(soft @ by_soft))
        return found, np.concatenate([by_x.sum(axis=0, dtype=np.float64).ravel(), by_label])

    def first(generator: np.random.Generator) -> Floats:
        guess = pixels.guess(1, matcher.shape, generator)
        return np.concatenate([guess.ravel(), generator.standard_normal(classes)])

    best = _best_of(value, first, effort, seed)
    return pixels.clip(best[:size].reshape(1, *matcher.shape).astype(np.float32)), int(best[size:].argmax())


def improved_deep_leakage(
    matcher: GradientMatcher, labels: Sequence[int], pixels: PixelRange, effort: AttackEffort, seed: int
) -> Pixels:
    """Returns pictures [labels, ...] by iDLG (Zhao et al. 2020, alg. 1): labels are known, L-BFGS."""
    count = len(labels)
    distance = matcher.squares(labels, range(count))
    weights = np.ones(count, np.float32)

    def value(point: Floats) -> tuple[float, Floats]:
        x = point.reshape(count, *matcher.shape).astype(np.float32)
        found, by_x, _ = distance(x, weights)
        return found, by_x.astype(np.float64).ravel()

    def first(generator: np.random.Generator) -> Floats:
        return pixels.guess(count, matcher.shape, generator).ravel().astype(np.float64)

    best = _best_of(value, first, effort, seed)
    return pixels.clip(best.reshape(count, *matcher.shape).astype(np.float32))


def invert_gradient(
    matcher: GradientMatcher, labels: Sequence[int], pixels: PixelRange, effort: AttackEffort, seed: int
) -> Pixels:
    """Returns pictures [labels, ...] by inverting gradients (Geiping, Bauermeister, Dröge and Moeller 2020).

    Cosine distance and total variation, by Adam on the signs of the derivative, within the range of pixels.
    Large pictures are first reconstructed small and smooth, then enlarged: with max pooling the attack gets
    stuck in noise otherwise.
    """
    sizes = _sizes(matcher.shape)
    generator = np.random.default_rng(seed)
    x = pixels.guess(len(labels), (*sizes[0], matcher.shape[2]), generator)
    for size in sizes:
        x = pixels.clip(_enlarged(x, size))
        smooth = effort.total_variation * (1.0 if size == sizes[-1] else _SMALL_SMOOTHNESS)
        steps = effort.steps // 2 if size == sizes[-1] and len(sizes) > 1 else effort.steps // len(sizes)
        x = _descended(matcher.cosine(labels, smooth), x, pixels, effort.rate, max(steps, 1))
    return x


def _descended(distance: Distance, x: Pixels, pixels: PixelRange, rate: float, steps: int) -> Pixels:
    """Returns pictures after `steps` of Adam on signs; `rate` falls to 0 by a cosine."""
    weights = np.ones(len(x), np.float32)
    mean, square = np.zeros(x.shape), np.zeros(x.shape)
    span = (pixels.high - pixels.low) / 2
    for step in range(1, steps + 1):
        _, by_x, _ = distance(x, weights)
        signs = np.sign(by_x).astype(np.float64)
        mean = _BETA_1 * mean + (1 - _BETA_1) * signs
        square = _BETA_2 * square + (1 - _BETA_2) * signs**2
        direction = (mean / (1 - _BETA_1**step)) / (np.sqrt(square / (1 - _BETA_2**step)) + 1e-8)
        cooled = 0.5 * rate * (1.0 + np.cos(np.pi * step / steps))
        x = pixels.clip((x - cooled * span * direction).astype(np.float32))
    return x


def _sizes(shape: Sequence[int]) -> list[tuple[int, int]]:
    """Returns the sizes of a reconstruction, the last one being the model's; small pictures have one."""
    height, width = shape[:2]
    parts = [part for part in (4, 2) if min(height, width) >= _SMALLEST_SIDE * part]
    return [(height // part, width // part) for part in (*parts, 1)]


def _enlarged(x: Pixels, size: tuple[int, int]) -> Pixels:
    """Returns pictures of this size, with the nearest pixels of `x`."""
    rows, columns = (np.arange(new) * old // new for new, old in zip(size, x.shape[1:3], strict=True))
    enlarged: Pixels = x[:, rows][:, :, columns]
    return enlarged


def _best_of(
    value: Callable[[Floats], tuple[float, Floats]],
    first: Callable[[np.random.Generator], Floats],
    effort: AttackEffort,
    seed: int,
) -> Floats:
    """Returns the point of the lowest value that L-BFGS finds from several first guesses."""
    options = {"maxiter": effort.evaluations, "maxfun": effort.evaluations}
    generator = np.random.default_rng(seed)
    found = [
        minimize(value, first(generator), jac=True, method="L-BFGS-B", options=options)
        for _ in range(effort.guesses)
    ]
    best: Floats = min(found, key=lambda one: float(one.fun)).x
    return best


def _softmax(values: Floats) -> Floats:
    raised = np.exp(values - values.max())
    soft: Floats = raised / raised.sum()
    return soft
