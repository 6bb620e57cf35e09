"""Measures a version on held-out examples, as sums that add up over batches, shards and clients."""

from __future__ import annotations

import time

import numpy as np

from backend.errors import PeerError
from backend.peer.data.shards import Examples
from backend.peer.training.graphs import Graphs, Tensor, import_tensorflow
from backend.peer.training.step import Halt, Totals, Vector, totals, totals_size
from backend.protocols.client.training_pace import Stride


class VersionMeasurer:
    """Runs the evaluate graph of one bundle. Owned by one thread at a time."""

    def __init__(self, graphs: Graphs) -> None:
        self._manifest = graphs.manifest
        tf = self._tf = import_tensorflow()
        run = graphs.run["evaluate"]

        def measure(parts: dict[str, Tensor], batch: dict[str, Tensor]) -> Tensor:
            return totals(tf, run({**parts, **batch}), batch["sample_weight"])

        self._measure = tf.function(measure, autograph=False)

    def totals(self, weights: Vector, examples: Examples, halt: Halt) -> Totals:
        """Returns the sums over `examples` for `weights` [P], to add up over calls; see `step.read_totals`.

        `halt` may end the work before any batch. Raises PeerError for a wrong number of weights, or if
        TensorFlow fails.
        """
        sizes = self._manifest.parameters
        if weights.shape != (sizes.total,):
            raise PeerError(f"The version has {weights.size} values where the bundle has {sizes.total}.")
        parts = {
            "trainable": self._tf.constant(weights[: sizes.trainable]),
            "state": self._tf.constant(weights[sizes.trainable :]),
        }
        try:
            return self._sum(parts, examples, halt)
        except self._tf.errors.OpError as error:
            cause = error.message.partition("\n")[0]
            raise PeerError(f"TensorFlow failed ({cause}); --device cpu may help.") from error

    def _sum(self, parts: dict[str, Tensor], examples: Examples, halt: Halt) -> Totals:
        """Sums over batches. Padding rows have weight 0, so that the sums are exact."""
        summed = np.zeros(totals_size(self._manifest.metrics), np.float64)
        size, stride, started = self._manifest.batch_size, Stride(), time.perf_counter()
        for start in range(0, len(examples), size):
            if halt(stride.steps, stride.step_seconds):
                break
            batch = examples.batch(slice(start, start + size), size)
            summed += self._measure(parts, batch).numpy()
            now = time.perf_counter()
            stride.stepped(now - started)
            started = now
        return summed
