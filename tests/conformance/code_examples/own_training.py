"""Own losses, optimizers and models with an own training step; the file for `--custom` of their examples."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import ops


def contrastive_loss(y_true: Any, y_pred: Any) -> Any:
    """Pulls equal pairs together and pushes others apart, up to a margin of 1 (Hadsell et al. 2006)."""
    far = ops.square(ops.maximum(1.0 - y_pred, 0.0))
    return ops.mean((1.0 - y_true) * ops.square(y_pred) + y_true * far)


def charbonnier_loss(y_true: Any, y_pred: Any) -> Any:
    """A smooth absolute error for restored images."""
    return ops.mean(ops.sqrt(ops.square(y_true - y_pred) + 1e-6))


def dice_loss(y_true: Any, y_pred: Any) -> Any:
    """One minus the overlap of each example's mask."""
    axes = (1, 2, 3)
    overlap = 2.0 * ops.sum(y_true * y_pred, axis=axes) + 1.0
    return 1.0 - overlap / (ops.sum(y_true, axis=axes) + ops.sum(y_pred, axis=axes) + 1.0)


def box_loss(y_true: Any, y_pred: Any) -> Any:
    """A smooth absolute error of boxes, each box by itself."""
    error = ops.abs(y_true - y_pred)
    return ops.sum(ops.where(error < 1.0, 0.5 * error**2, error - 0.5), axis=-1)


class MaskedEntityLoss(keras.losses.Loss):  # type: ignore[misc]
    """Crossentropy of tokens without those of class 0, the padding."""

    def __init__(self, name: str = "entities", **settings: Any) -> None:
        super().__init__(name=name, **settings)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        loss = keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)
        real = ops.cast(y_true > 0, "float32")
        return ops.sum(loss * real, axis=-1) / ops.maximum(ops.sum(real, axis=-1), 1.0)


class SupervisedContrastiveLoss(keras.losses.Loss):  # type: ignore[misc]
    """Compares each row of a batch with all others (Khosla et al. 2020)."""

    def __init__(self, temperature: float = 1.0, name: str | None = None, **settings: Any) -> None:
        super().__init__(name=name, **settings)
        self.temperature = temperature

    def call(self, y_true: Any, y_pred: Any) -> Any:
        features = ops.normalize(y_pred, axis=1)
        logits = ops.matmul(features, ops.transpose(features)) / self.temperature
        labels = ops.reshape(y_true[:, :1], (-1, 1))
        same = ops.cast(ops.equal(labels, ops.transpose(labels)), "float32")
        wanted = same / ops.sum(same, axis=1, keepdims=True)
        return -ops.sum(wanted * ops.log_softmax(logits, axis=1), axis=1)


class CenteredRMSprop(keras.optimizers.RMSprop):  # type: ignore[misc]
    """RMSprop of gradients whose mean is subtracted (Yong et al. 2020)."""

    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        centered = [g - ops.mean(g, axis=0, keepdims=True) if len(g.shape) > 1 else g for g in grads]
        return super().apply(centered, trainable_variables)


class OwnStep(keras.Model):  # type: ignore[misc]
    """A functional model whose step is written by hand: what most generative examples come down to."""

    def train_step(self, data: Any) -> Any:
        x = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            loss = ops.mean(ops.square(self(x, training=True)))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


class OwnLoss(keras.Model):  # type: ignore[misc]
    """A functional model that computes its loss by hand, as for distillation."""

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: Any = True,
    ) -> Any:
        del x, sample_weight, training
        return ops.mean(ops.square(y - y_pred))


class Pair(keras.Model):  # type: ignore[misc]
    """Two models in one, such as generator and discriminator or encoder and decoder, with an own step."""

    def __init__(self, first: Any, second: Any, **settings: Any) -> None:
        super().__init__(**settings)
        self.first, self.second = first, second

    def get_config(self) -> dict[str, Any]:
        both = {"first": self.first, "second": self.second}
        return {key: keras.saving.serialize_keras_object(part) for key, part in both.items()}

    @classmethod
    def from_config(cls, config: Any) -> Any:
        return cls(*(keras.saving.deserialize_keras_object(config[key]) for key in ("first", "second")))

    def call(self, x: Any) -> Any:
        return self.second(self.first(x))

    def train_step(self, data: Any) -> Any:
        del data
        return {"loss": ops.zeros(())}
