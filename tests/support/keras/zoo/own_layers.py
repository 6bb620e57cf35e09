"""What an owner of models would give to `minga convert --custom`."""

from typing import Any

import keras


class Sampling(keras.layers.Layer):  # type: ignore[misc]
    """Draws from a normal distribution with a given mean and logarithm of the variance."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(7)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        mean, log_variance = inputs
        if not training:
            return mean
        normal = keras.random.normal(keras.ops.shape(mean), seed=self.seed_generator)
        return mean + keras.ops.exp(0.5 * log_variance) * normal


class Divergence(keras.layers.Layer):  # type: ignore[misc]
    """How far that distribution is from the standard normal one, for each example."""

    def call(self, inputs: Any) -> Any:
        mean, log_variance = inputs
        terms = 1.0 + log_variance - keras.ops.square(mean) - keras.ops.exp(log_variance)
        return -0.5 * keras.ops.mean(terms, axis=1, keepdims=True)


class Gate(keras.layers.Layer):  # type: ignore[misc]
    """Mixes its inputs with a transformed copy; the weights are its own variables."""

    def __init__(self, sharpness: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sharpness = sharpness

    def build(self, input_shape: Any) -> None:
        width = input_shape[-1]
        self.kernel = self.add_weight(shape=(width, width), name="kernel")
        self.admission = self.add_weight(shape=(width,), initializer="zeros", name="gate")

    def call(self, inputs: Any) -> Any:
        share = keras.ops.sigmoid(self.sharpness * self.admission)
        return share * keras.ops.tanh(keras.ops.matmul(inputs, self.kernel)) + (1.0 - share) * inputs
