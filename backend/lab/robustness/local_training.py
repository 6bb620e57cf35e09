"""Trains a lab's clients: the steps of the peer's trainer, all of a round in one TensorFlow call.

Half of a small model's step is the call from Python. Values are those of `Trainer`, without its halts,
reports, corrections and privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.numerics.vectors import Vector
from backend.numerics.walk import Walk
from backend.peer.data.shards import Examples
from backend.peer.training.graphs import Graphs, Tensor, import_tensorflow
from backend.peer.training.step import Carry, read_totals, step_of, totals_size
from backend.peer.training.trainer import TrainingPlan


class LocalTrainer:
    """Runs plans on the graphs of one bundle, each in one call. Owned by one thread."""

    def __init__(self, graphs: Graphs) -> None:
        tf = self._tf = import_tensorflow()
        self._manifest = graphs.manifest
        step = step_of(tf, graphs)

        def run(
            carry: Carry, columns: dict[str, Tensor], rows: Tensor, present: Tensor, rate: Tensor, key: Tensor
        ) -> Carry:
            def body(done: Tensor, carry: Carry) -> tuple[Tensor, Carry]:
                batch = {name: tf.gather(values, rows[done]) for name, values in columns.items()}
                batch["sample_weight"] *= present[done]
                number = tf.cast(done, tf.int64) + 1
                return done + 1, step(carry, batch, rate, tf.stack([key[0], number, key[1]]), {}, {})

            steps = tf.shape(rows)[0]
            moved: Carry = tf.while_loop(lambda done, _carry: done < steps, body, [tf.constant(0), carry])[1]
            return moved

        # Clients have different numbers of examples and steps.
        self._run = tf.function(run, autograph=False, reduce_retracing=True)

    def train(self, weights: Vector, plan: TrainingPlan, examples: Examples) -> tuple[Vector, int]:
        """Returns the update [P] of a plan over `examples`, and how many of them it counted."""
        tf, sizes = self._tf, self._manifest.parameters
        rows, present = self._batches(plan, len(examples))
        carry = {
            "trainable": tf.constant(weights[: sizes.trainable]),
            "state": tf.constant(weights[sizes.trainable :]),
            "slots": tf.zeros([self._manifest.optimizer.slots, sizes.trainable], tf.float32),
            "totals": tf.zeros([totals_size(self._manifest.metrics)], tf.float64),
        }
        columns = {
            name: tf.constant(values) for name, values in examples.batch(slice(None), len(examples)).items()
        }
        key = tf.constant([plan.seed, plan.past_steps], tf.int64)
        rate = tf.constant(plan.learning_rate, tf.float32)
        moved = self._run(carry, columns, tf.constant(rows), tf.constant(present), rate, key)
        end = np.concatenate([moved["trainable"].numpy(), moved["state"].numpy()])
        return end - weights, read_totals(moved["totals"].numpy())[0]

    def counted(self, plan: TrainingPlan, count: int) -> int:
        """Returns how many examples a plan counts over `count` of them, without training."""
        return int(self._batches(plan, count)[1].sum())

    def _batches(self, plan: TrainingPlan, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Returns the rows of each batch [steps, size], padded with its first, and which are no padding."""
        size = self._manifest.batch_size
        walk = Walk(plan.seed, plan.epochs, plan.steps, plan.batch_size or size, plan.first_step)
        batches = [np.asarray(batch, np.int64) for batch in walk.batches(count)]
        rows = np.stack(
            [np.pad(batch, (0, size - len(batch)), constant_values=batch[0]) for batch in batches]
        )
        lengths = np.array([len(batch) for batch in batches])
        return rows, (np.arange(size) < lengths[:, None]).astype(np.float32)
