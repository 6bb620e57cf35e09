"""Measures how far pictures explain an observed gradient, with the derivative by the pictures.

Imports TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import BundleError
from backend.lab.leakage.inferred_gradient import InferredGradient
from backend.numerics.vectors import Vector
from backend.peer.training.graphs import Graphs, Tensor, import_tensorflow

Pixels = NDArray[np.float32]
# Maps [rows, height, width, channels] and weights [rows] to a distance and its derivatives by both.
Distance = Callable[[Pixels, Pixels], tuple[float, Pixels, Pixels]]
# Maps a gradient, the observed one, pictures and a strength to a distance.
Comparison = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
# Values that are known worse than this share of their size and of the typical size count less.
_KNOWN, _TYPICAL = 0.3, 0.1


@dataclass(frozen=True)
class Observation:
    """What an attacker has of one update: the gradient, and the step's random inputs by name.

    Random inputs follow from the plan's seed, which the server chose: they have a row for each example.
    """

    gradient: InferredGradient
    random: Mapping[str, Pixels]


class CandidateGradients:
    """Differentiates distances of gradients of a bundle's train graph at `weights` [P] by its inputs.

    `graphs` must have no fused ops. Owns the traced functions, so that all attacks share them.
    """

    def __init__(self, graphs: Graphs, weights: Vector) -> None:
        tf = self._tf = import_tensorflow()
        sizes = graphs.manifest.parameters
        self._run = graphs.run["train"]
        self.rows = graphs.manifest.batch_size
        self.shape = tuple(graphs.manifest.inputs[0].shape)
        self._version = {"trainable": tf.constant(weights[: sizes.trainable])}
        if sizes.state:
            self._version["state"] = tf.constant(weights[sizes.trainable :])
        self.squares = tf.function(self._differentiated(self._squares), autograph=False)
        self.cosine = tf.function(self._differentiated(self._cosine), autograph=False)

    def _differentiated(self, compare: Comparison) -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
        tf = self._tf

        def differentiated(
            x: Tensor, weights: Tensor, seen: Mapping[str, Tensor], fixed: Mapping[str, Tensor]
        ) -> tuple[Tensor, Tensor, Tensor]:
            with tf.GradientTape() as tape:
                tape.watch([x, weights])
                pictures = x if x.shape[1:3] == self.shape[:2] else tf.image.resize(x, self.shape[:2])
                padded = {"x_0": self._padded(pictures), "sample_weight": self._padded(weights)}
                gradient = seen["certainty"] * self._run({**self._version, **padded, **fixed})["gradient"]
                value = compare(gradient, seen["gradient"], pictures, seen["strength"])
            return value, *tape.gradient(value, [x, weights], unconnected_gradients="zero")

        return differentiated

    def _squares(self, gradient: Tensor, seen: Tensor, _x: Tensor, length: Tensor) -> Tensor:
        """Returns the relative squared distance (Zhu, Liu and Han 2019, eq. 4).

        Without a known `length`, 0, it is that of the directions, since the norm of `seen` means nothing.
        """
        tf = self._tf
        scale = tf.where(length > 0.0, 1.0, tf.norm(seen) / (tf.norm(gradient) + 1e-12))
        return tf.reduce_sum((scale * gradient - seen) ** 2) / tf.reduce_sum(seen**2)

    def _cosine(self, gradient: Tensor, seen: Tensor, x: Tensor, strength: Tensor) -> Tensor:
        """Returns 1 - cosine plus `strength` times the total variation (Geiping et al. 2020, eq. 4)."""
        tf = self._tf
        norms = tf.norm(gradient) * tf.norm(seen) + 1e-12
        down = tf.reduce_mean(tf.abs(x[:, 1:] - x[:, :-1]))
        across = tf.reduce_mean(tf.abs(x[:, :, 1:] - x[:, :, :-1]))
        return 1.0 - tf.reduce_sum(gradient * seen) / norms + strength * (down + across)

    def _padded(self, values: Tensor) -> Tensor:
        missing = self.rows - values.shape[0]
        return self._tf.pad(values, [[0, missing], *([[0, 0]] * (len(values.shape) - 1))])


class GradientMatcher:
    """Measures how far candidate pictures explain one observation."""

    def __init__(self, candidates: CandidateGradients, observation: Observation) -> None:
        self._tf = import_tensorflow()
        self._candidates, self._observation = candidates, observation
        self.shape = candidates.shape

    def squares(self, labels: Sequence[int], examples: Sequence[int]) -> Distance:
        """Returns the relative squared distance of gradients, for DLG and iDLG.

        Row i has the label `labels[i]` and the random inputs of the example `examples[i]`. Raises BundleError
        if TensorFlow cannot differentiate the gradient.
        """
        length = 1.0 if self._observation.gradient.exact else 0.0
        return self._distance(self._candidates.squares, labels, examples, length)

    def cosine(self, labels: Sequence[int], total_variation: float) -> Distance:
        """Returns the cosine distance plus `total_variation` times that of the pictures.

        Smaller pictures are enlarged to the model's size first, bilinearly.
        """
        return self._distance(self._candidates.cosine, labels, range(len(labels)), total_variation)

    def _distance(
        self, differentiated: Any, labels: Sequence[int], examples: Sequence[int], strength: float
    ) -> Distance:
        tf = self._tf
        known = _certainty(self._observation.gradient)
        seen = {
            "certainty": tf.constant(known),
            "gradient": tf.constant(known * self._observation.gradient.values),
            "strength": tf.constant(strength, tf.float32),
        }
        fixed = self._fixed_inputs(labels, examples)

        def distance(x: Pixels, weights: Pixels) -> tuple[float, Pixels, Pixels]:
            try:
                outcome = differentiated(tf.constant(x), tf.constant(weights), seen, fixed)
            except (LookupError, SystemError) as error:
                raise BundleError(
                    "TensorFlow cannot differentiate this model's gradient by its inputs, which these "
                    f"attacks need ({error}). That is no protection: other attacks may not need it."
                ) from error
            value, by_x, by_weights = (one.numpy() for one in outcome)
            return float(value), by_x, by_weights

        return distance

    def _fixed_inputs(self, labels: Sequence[int], examples: Sequence[int]) -> dict[str, Tensor]:
        tf, rows = self._tf, self._candidates.rows
        random = {
            name: tf.constant(_with_rows(values[np.asarray(examples)], rows))
            for name, values in self._observation.random.items()
        }
        return {"y_0": tf.constant(_with_rows(np.asarray(labels, np.int32), rows)), **random}


def _certainty(gradient: InferredGradient) -> Vector:
    """Returns a weight from 0 to 1 for each value: the less it is known, the less it counts."""
    size = np.abs(gradient.values)
    tolerance = _KNOWN * size + _TYPICAL * np.sqrt(np.mean(size.astype(np.float64) ** 2))
    ratio = gradient.spread.astype(np.float64) / np.maximum(tolerance, np.finfo(np.float32).tiny)
    certainty: Vector = (1.0 / np.sqrt(1.0 + ratio**2)).astype(np.float32)
    return certainty


def _with_rows(values: NDArray[Any], rows: int) -> NDArray[Any]:
    return np.pad(values, [(0, rows - len(values)), *([(0, 0)] * (values.ndim - 1))])
