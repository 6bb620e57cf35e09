"""Learning-rate schedules as functions of the position (number of earlier steps), as in Keras 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from converter.optimizers.scalar_math import full_steps, half_cosine, power, real_power, table
from converter.refusal import Refusal

Schedule = Callable[[Any], Any]
# Beyond this position float32 cannot represent single steps.
LAST_POSITION = 2.0**24


def exponential_decay(
    learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False
) -> Schedule:
    """Decays by decay_rate ** (position / decay_steps); `staircase` rounds the exponent down."""
    return lambda position: learning_rate * power(decay_rate, _passed(position, decay_steps, staircase))


def inverse_time_decay(
    learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False
) -> Schedule:
    """Decays as rate / (1 + decay_rate * position / decay_steps)."""
    return lambda position: learning_rate / (1.0 + decay_rate * _passed(position, decay_steps, staircase))


def polynomial_decay(
    learning_rate: float,
    decay_steps: float,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
) -> Schedule:
    """Decays from the first rate to the last along (1 - p) ** power; `cycle` repeats it, longer each time."""

    def schedule(position: Any) -> Any:
        length = decay_steps
        if cycle:
            # ceil(position / decay_steps) for whole numbers: one more than the full cycles before the
            # position.
            length = decay_steps * tf.maximum(full_steps(position - 1.0, decay_steps) + 1.0, 1.0)
        remaining = tf.maximum(1.0 - position / length, 0.0)
        return (learning_rate - end_learning_rate) * real_power(remaining, power) + end_learning_rate

    return schedule


def piecewise_constant_decay(boundaries: list[float], values: list[float]) -> Schedule:
    """Returns values[i] up to and including step boundaries[i], then the last value."""
    if len(values) != len(boundaries) + 1 or sorted(boundaries) != list(boundaries):
        raise Refusal(
            "The schedule piecewise_constant_decay needs ascending `boundaries` and one more of `values`.",
            "bad-task",
        )

    def schedule(position: Any) -> Any:
        # Keras compares whole steps with whole boundaries.
        whole_boundaries = tf.constant([float(int(boundary)) for boundary in boundaries])
        return table(values, tf.reduce_sum(tf.cast(position > whole_boundaries, tf.float32)))

    return schedule


def cosine_decay(
    learning_rate: float,
    decay_steps: float,
    alpha: float = 0.0,
    warmup_target: float | None = None,
    warmup_steps: float = 0.0,
) -> Schedule:
    """Decays along half a cosine to `alpha` times the rate, after a linear warm-up.

    The decay is that of Loshchilov and Hutter 2017.
    """
    warm = 0.0 if warmup_target is None else warmup_steps
    top = learning_rate if warmup_target is None else warmup_target

    def schedule(position: Any) -> Any:
        fraction = tf.clip_by_value((position - warm) / decay_steps, 0.0, 1.0)
        decayed = top * ((1.0 - alpha) * half_cosine(fraction) + alpha)
        if not warm:
            return decayed
        rising = learning_rate + (top - learning_rate) * (position / warm)
        return tf.where(position < warm, rising, decayed)

    return schedule


def cosine_decay_restarts(
    learning_rate: float,
    first_decay_steps: float,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: float = 0.0,
) -> Schedule:
    """Restarts a cosine decay, each time `t_mul` as long and `m_mul` as high.

    The decay is that of Loshchilov and Hutter 2017. The restarts are counted in a table: Keras takes a
    float32 logarithm, which can miss one by a step.
    """
    starts, lengths, heights = [0.0], [first_decay_steps], [1.0]
    while t_mul != 1.0 and len(starts) < 1000 and starts[-1] + lengths[-1] < LAST_POSITION:
        starts.append(starts[-1] + lengths[-1])
        lengths.append(lengths[-1] * t_mul)
        heights.append(heights[-1] * m_mul)

    def schedule(position: Any) -> Any:
        if t_mul == 1.0:
            restart = full_steps(position, first_decay_steps)
            height = power(m_mul, restart) if m_mul != 1.0 else 1.0
            fraction = position / first_decay_steps - restart
        else:
            restart = tf.reduce_sum(tf.cast(position >= tf.constant(starts[1:]), tf.float32))
            height = table(heights, restart)
            fraction = (position - table(starts, restart)) / table(lengths, restart)
        cosine = height * half_cosine(tf.clip_by_value(fraction, 0.0, 1.0))
        return learning_rate * ((1.0 - alpha) * cosine + alpha)

    return schedule


def _passed(position: Any, decay_steps: float, staircase: bool) -> Any:
    return full_steps(position, decay_steps) if staircase else position / decay_steps


SCHEDULES: dict[str, Callable[..., Schedule]] = {
    "exponential_decay": exponential_decay,
    "inverse_time_decay": inverse_time_decay,
    "polynomial_decay": polynomial_decay,
    "piecewise_constant_decay": piecewise_constant_decay,
    "cosine_decay": cosine_decay,
    "cosine_decay_restarts": cosine_decay_restarts,
}
