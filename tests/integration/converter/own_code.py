"""An owner's file for `--custom`: code of which each once made a bundle that trained otherwise than Keras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from keras import ops


def mean_of_batch(y: Any, output: Any) -> Any:
    """A loss of the whole batch, as one number."""
    return ops.mean(ops.square(y - output))


def mean_of_tensorflow(y: Any, output: Any) -> Any:
    """The same in TensorFlow's own words."""
    return tf.reduce_mean(tf.square(y - output))


def steep(y: Any, output: Any) -> Any:
    """A loss that a long step makes infinite."""
    return ops.mean(ops.exp(ops.square(y - output)))


def overlap_of_masks(y: Any, output: Any) -> Any:
    """One minus the overlap of each image's mask: one number an image."""
    shared = ops.sum(y * output, axis=(1, 2, 3))
    return 1.0 - 2.0 * shared / (ops.sum(y, axis=(1, 2, 3)) + ops.sum(output, axis=(1, 2, 3)))


class Weighed(keras.losses.Loss):  # type: ignore[misc]
    """A loss that replaces Keras' weighing of examples."""

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        del sample_weight
        return 3.0 * ops.mean(ops.abs(y_true - y_pred))

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return ops.mean(ops.square(y_true - y_pred), axis=-1)


class SGD(keras.optimizers.SGD):  # type: ignore[misc]
    """Not Keras' own, though it bears the name."""

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        self.assign_sub(variable, 2.0 * ops.sign(gradient) * learning_rate)


class OwnStep(keras.Model):  # type: ignore[misc]
    """Trains by its own step: with twice the gradient."""

    def train_step(self, data: Any) -> Any:
        x, y = data[0], data[1]
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply([2.0 * g for g in gradients], self.trainable_variables)
        return {"loss": loss}


class OwnLoss(keras.Model):  # type: ignore[misc]
    """Adds to the compiled loss by `compute_loss`."""

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: Any = True,
    ) -> Any:
        compiled = super().compute_loss(x, y, y_pred, sample_weight, training)
        return compiled + ops.mean(ops.square(y_pred))


class WritesFile(keras.Model):  # type: ignore[misc]
    """Leaves a file beside this one when its loss is computed."""

    LEFT = Path(__file__).with_name("left_by_compute_loss")

    def compute_loss(self, *given: Any, **named: Any) -> Any:
        self.LEFT.touch()
        return super().compute_loss(*given, **named)


class OnlyInGraphs(keras.layers.Layer):  # type: ignore[misc]
    """Can be traced, but not be run step by step."""

    def call(self, x: Any) -> Any:
        if tf.executing_eagerly():
            raise ValueError("this layer wants a graph")
        return 2.0 * x


class DrawsAcross(keras.layers.Layer):  # type: ignore[misc]
    """Draws numbers with the batch as the second axis."""

    def call(self, x: Any, training: bool = False) -> Any:
        if not training:
            return x
        noise = keras.random.uniform((x.shape[-1], ops.shape(x)[0]), 0.5, 1.5)
        return x * ops.transpose(noise)


class ReadsAssigned(keras.layers.Layer):  # type: ignore[misc]
    """Assigns its mean and then uses it, as layers with moving averages do."""

    def build(self, shape: Any) -> None:
        self.mean = self.add_weight(shape=(shape[-1],), trainable=False, initializer="zeros")

    def call(self, x: Any) -> Any:
        self.mean.assign(0.5 * self.mean + 0.5 * ops.mean(x, axis=0))
        return x - self.mean


class Parts(keras.Model):  # type: ignore[misc]
    """A model that joins another one in its call and trains it by its own step, as examples of GANs do."""

    def __init__(self, part: Any, **settings: Any) -> None:
        super().__init__(**settings)
        self.part = part

    def get_config(self) -> dict[str, Any]:
        return {"part": keras.saving.serialize_keras_object(self.part)}

    @classmethod
    def from_config(cls, config: Any) -> Any:
        return cls(keras.saving.deserialize_keras_object(config["part"]))

    def call(self, x: Any) -> Any:
        return self.part(x)

    def train_step(self, data: Any) -> Any:
        del data
        return {"loss": ops.zeros(())}
