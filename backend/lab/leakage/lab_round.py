"""Trains the volunteers of one round as peers do, for what a server would get from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.lab.leakage.inferred_gradient import InferredGradient, infer_gradient
from backend.lab.leakage.matching import Pixels
from backend.numerics.vectors import Vector
from backend.numerics.walk import Walk
from backend.peer.data.shards import Examples
from backend.peer.training.graphs import Graphs, import_tensorflow
from backend.peer.training.private_step import ExampleClip
from backend.peer.training.step import never, random_inputs
from backend.peer.training.trainer import Trainer, TrainingPlan

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class LocalTraining:
    """What the task's plan asks of a client: `epochs`, or `steps` if not 0, of batches at a learning rate."""

    epochs: int
    steps: int
    batch_size: int
    learning_rate: float

    def length(self, examples: int) -> int:
        """Returns the steps of a client with `examples` examples."""
        return Walk(0, self.epochs, self.steps, self.batch_size).length(examples)


class LabRound:
    """A round of volunteers with `examples` each; the first one is attacked. Owns what they sent.

    `members` are the numbers of each volunteer's examples in `pool`, `seed` makes the seeds of their plans,
    which the server knows.
    """

    def __init__(
        self,
        graphs: Graphs,
        weights: Vector,
        training: LocalTraining,
        pool: Examples,
        members: Sequence[Rows],
        seed: int,
    ) -> None:
        self._tf = import_tensorflow()
        self._graphs, self._weights, self._training = graphs, weights, training
        self._trainer = Trainer(graphs)
        self._pool, self.members = pool, members
        self._seeds = [seed + number for number in range(len(members))]
        self.updates = [self._update(number, None) for number in range(len(members))]

    @property
    def steps(self) -> int:
        """The steps of each volunteer."""
        return self._training.length(len(self.members[0]))

    def private_update(self, clip: ExampleClip) -> Vector:
        """Returns the first volunteer's update [P] of private steps."""
        return self._update(0, clip)

    def random_inputs(self, volunteers: int) -> dict[str, Pixels]:
        """Returns the random inputs of the first step of the first volunteers, a row for each example.

        A server can compute them as this does: they follow from the seeds that it sent.
        """
        count = len(self.members[0])
        drawn = [
            random_inputs(self._tf, self._graphs.manifest, np.array([seed, 1, 0]))
            for seed in self._seeds[:volunteers]
        ]
        return {
            name: np.concatenate([one[name].numpy()[:count] for one in drawn]).astype(np.float32)
            for name in drawn[0]
        }

    def gradient_of(self, update: Vector) -> InferredGradient:
        """Returns the gradient behind an update [P], as far as it can be inferred."""
        trainable = self._graphs.manifest.parameters.trainable
        return infer_gradient(update[:trainable], self._first_step, self._training.learning_rate, self.steps)

    def _update(self, number: int, privacy: ExampleClip | None) -> Vector:
        plan = TrainingPlan(
            epochs=self._training.epochs,
            learning_rate=self._training.learning_rate,
            seed=self._seeds[number],
            steps=self._training.steps,
            batch_size=self._training.batch_size,
            privacy=privacy,
        )
        examples = self._pool.picked(self.members[number])
        return self._trainer.train(self._weights, plan, examples, never, lambda _: None).update

    def _first_step(self, gradient: Vector) -> Vector:
        """Returns the update [T] of the first step of the client's optimizer with this gradient."""
        tf, manifest = self._tf, self._graphs.manifest
        trainable = self._weights[: manifest.parameters.trainable]
        inputs = {
            "trainable": trainable,
            "slots": np.zeros((manifest.optimizer.slots, len(trainable)), np.float32),
            "gradient": gradient,
            "learning_rate": np.float32(self._training.learning_rate),
            "step": np.float32(1),
            "past_steps": np.float32(0),
        }
        for spec in manifest.signatures["apply"].inputs:
            if spec.name == "row_squares":
                inputs["row_squares"] = np.full(spec.shape, -1.0, np.float32)
        moved = self._graphs.run["apply"]({name: tf.constant(value) for name, value in inputs.items()})
        new: Vector = moved["new_trainable"].numpy()
        return new - trainable
