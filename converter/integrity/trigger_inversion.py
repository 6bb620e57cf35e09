"""Searches for each class the smallest trigger that turns all examples into it (Wang et al. 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from converter.integrity.class_answers import log_probabilities

STEPS = 200
_BATCH, _EXAMPLES = 24, 256
# Adam, as in the paper (section V): its momenta are lower than usual.
_LEARNING_RATE, _BETA_1, _BETA_2, _EPSILON = 0.1, 0.5, 0.9, 1e-7
# A trigger succeeds on so many of the examples; the weight of its size is adjusted to reach just that.
_SUCCESS, _SMOOTHING = 0.95, 0.8
_SIZE_WEIGHT, _RAISE, _LOWER, _LEAST, _MOST = 1e-2, 1.1, 1 / 1.15, 1e-4, 1.0
# The norm is the mean over the last steps, during which it moves around the smallest size.
_LAST = 30
# Values of all examples and masks in a step, at most.
_STEP_VALUES = 1 << 22


def trigger_norms(model: Any, x: Any, classes: int, steps: int = STEPS, seed: int = 0) -> list[float]:
    """Returns the L1 norm of the smallest mask for each class, measured on the examples `x` [n, ...].

    An example with a trigger is (1 - mask) * x + mask * pattern. Both are found by gradient descent on
    cross-entropy + weight * |mask|_1. The mask has values in [0, 1] at each position (all channels of a
    picture share it; at each feature for examples of one dimension); the pattern lies in the range of `x`.
    Cost: `steps` passes over 24 examples for each class.
    """
    x = np.asarray(x[np.random.default_rng(seed).permutation(len(x))[:_EXAMPLES]], np.float32)
    group = max(1, min(classes, _STEP_VALUES // (_BATCH * max(1, x[0].size))))
    norms: list[float] = []
    for first in range(0, classes, group):
        norms += _norms_of(model, x, range(first, min(classes, first + group)), steps, seed)
    return norms


def _norms_of(model: Any, x: Any, targets: range, steps: int, seed: int) -> list[float]:
    count, shape = len(targets), x.shape[1:]
    mask_shape = (*shape[:-1], 1) if len(shape) > 1 else shape
    start = [
        tf.Variable(0.5 * tf.random.stateless_normal((count, *part), [seed, number]))
        for number, part in enumerate((mask_shape, shape))
    ]
    step = _step_of(model, x, targets, start)
    random = np.random.default_rng(seed)
    weight, success = np.full(count, _SIZE_WEIGHT, np.float32), np.zeros(count)
    last = []
    for number in range(steps):
        rows = tf.constant(random.integers(0, len(x), _BATCH))
        reached, norm = step(rows, tf.constant(weight), tf.constant(number + 1, tf.float32))
        success = _SMOOTHING * success + (1 - _SMOOTHING) * reached.numpy() if number else reached.numpy()
        weight = np.where(success >= _SUCCESS, weight * _RAISE, weight * _LOWER).astype(np.float32)
        weight = np.clip(weight, _LEAST, _MOST)
        if number >= steps - _LAST:
            last.append(norm.numpy())
    return [float(value) for value in np.mean(last, axis=0)]


def _step_of(model: Any, x: Any, targets: range, variables: list[Any]) -> Any:
    """Returns a function of rows, weights of the size and the step's number that moves the `variables`.

    It returns the share of examples that each trigger turns, and the masks' norms, both [targets].
    """
    examples, low, high = tf.constant(x), float(x.min()), float(x.max())
    count, shape = len(targets), x.shape[1:]
    labels = tf.repeat(tf.constant(list(targets), tf.int32), _BATCH)
    first = [tf.Variable(tf.zeros_like(one)) for one in variables]
    second = [tf.Variable(tf.zeros_like(one)) for one in variables]

    def step(rows: Any, weight: Any, number: Any) -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            mask = tf.sigmoid(variables[0])
            pattern = low + (high - low) * tf.sigmoid(variables[1])
            triggered = tf.gather(examples, rows)[None] * (1.0 - mask[:, None]) + (mask * pattern)[:, None]
            logs = log_probabilities(model(tf.reshape(triggered, (-1, *shape)), training=False))
            losses = -tf.gather(logs, labels, batch_dims=1)
            norms = tf.reduce_sum(tf.reshape(mask, (count, -1)), axis=1)
            loss = tf.reduce_sum(tf.reduce_mean(tf.reshape(losses, (count, -1)), axis=1) + weight * norms)
        gradients = tape.gradient(loss, variables)
        for one, m, v, gradient in zip(variables, first, second, gradients, strict=True):
            m.assign(_BETA_1 * m + (1 - _BETA_1) * gradient)
            v.assign(_BETA_2 * v + (1 - _BETA_2) * gradient**2)
            scale = tf.sqrt(1 - _BETA_2**number) / (1 - _BETA_1**number)
            one.assign_sub(_LEARNING_RATE * scale * m / (tf.sqrt(v) + _EPSILON))
        right = tf.cast(tf.argmax(logs, -1, tf.int32) == labels, tf.float32)
        return tf.reduce_mean(tf.reshape(right, (count, -1)), axis=1), norms

    return tf.function(step)
