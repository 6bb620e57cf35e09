"""The optimizers' update rules as pure functions on the flat vector, with the formulas of Keras 3.

Each factory closes over its hyper-parameters and returns a Rule, whose update is `(trainable [T], slots (K
times [T]), Gradient, rate [], step []) -> (trainable, slots)`, all float32; `step` counts the updates from
1. Slots start as zeros: where Keras starts at another value, the slot holds the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from converter.optimizers.gradient import Gradient, ReadSum
from converter.optimizers.scalar_math import one_minus_powers, power, real_power, table

Slots = tuple[Any, ...]
Update = Callable[[Any, Slots, Gradient, Any, Any], tuple[Any, Slots]]


@dataclass(frozen=True)
class Rule:
    """The number of slots that an optimizer keeps, its update, and what it takes of a table's reads."""

    slots: int
    update: Update
    reads: ReadSum | None = None


def sgd(momentum: float = 0.0, nesterov: bool = False) -> Rule:
    """Gradient descent, heavy ball or Nesterov's look-ahead; slot: velocity.

    Robbins and Monro 1951; Polyak 1964; Sutskever et al. 2013, eq. 3-4.
    """

    def plain(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        del step
        return trainable - rate * gradient.values, slots

    def with_momentum(
        trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any
    ) -> tuple[Any, Slots]:
        del step
        change = rate * gradient.values
        velocity = momentum * slots[0] - change
        total_change = momentum * velocity - change if nesterov else velocity
        return trainable + total_change, (velocity,)

    return Rule(1, with_momentum) if momentum else Rule(0, plain)


def rmsprop(rho: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-7, centered: bool = False) -> Rule:
    """RMSprop (Tieleman and Hinton 2012; centered: Graves 2013, eq. 38-45).

    Slots: mean square, then the velocity if there is momentum, then the mean gradient if centered.
    """

    def update(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        del step
        rest = list(slots[1:])
        square = rho * slots[0] + (1.0 - rho) * gradient.squares
        denominator = square + epsilon
        new_slots = [square]
        mean = None
        if centered:
            mean = rho * rest.pop() + (1.0 - rho) * gradient.values
            denominator = square - tf.square(mean) + epsilon
        change = rate * gradient.values / tf.sqrt(denominator)
        if momentum:
            change = momentum * rest.pop() + change
            new_slots.append(change)
        if mean is not None:
            new_slots.append(mean)
        return trainable - change, tuple(new_slots)

    return Rule(1 + bool(momentum) + centered, update, "squares")


def adagrad(initial_accumulator_value: float = 0.1, epsilon: float = 1e-7) -> Rule:
    """Adagrad (Duchi et al. 2011, fig. 1); slot: sum of squares beyond the initial value."""

    def update(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        del step
        total = slots[0] + gradient.squares
        return trainable - rate * gradient.values / tf.sqrt(total + (initial_accumulator_value + epsilon)), (
            total,
        )

    return Rule(1, update, "squares")


def adadelta(rho: float = 0.95, epsilon: float = 1e-7) -> Rule:
    """Adadelta (Zeiler 2012, alg. 1); slots: mean squares of gradients and of changes."""

    def update(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        del step
        square = rho * slots[0] + (1.0 - rho) * gradient.squares
        change = gradient.scaled(tf.sqrt(slots[1] + epsilon) / tf.sqrt(square + epsilon))
        changes = rho * slots[1] + (1.0 - rho) * change.squares
        return trainable - rate * change.values, (square, changes)

    return Rule(2, update, "squares")


def lion(beta_1: float = 0.9, beta_2: float = 0.99) -> Rule:
    """Lion (Chen et al. 2023, alg. 2); slot: momentum."""

    def update(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        del step
        direction = tf.sign(beta_1 * slots[0] + (1.0 - beta_1) * gradient.values)
        return trainable - rate * direction, (beta_2 * slots[0] + (1.0 - beta_2) * gradient.values,)

    return Rule(1, update)


def ftrl(
    learning_rate_power: float = -0.5,
    initial_accumulator_value: float = 0.1,
    l1_regularization_strength: float = 0.0,
    l2_regularization_strength: float = 0.0,
    l2_shrinkage_regularization_strength: float = 0.0,
    beta: float = 0.0,
) -> Rule:
    """Follow the regularized leader, per coordinate (McMahan et al. 2013, alg. 1).

    Slots: sum of squares beyond the initial value, and the linear term.
    """
    raised = -learning_rate_power

    def update(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        del step
        total = slots[0] + gradient.squares
        before = real_power(slots[0] + initial_accumulator_value, raised)
        after = real_power(total + initial_accumulator_value, raised)
        shrunk = gradient.values
        if l2_shrinkage_regularization_strength:
            shrunk = gradient.values + (2.0 * l2_shrinkage_regularization_strength) * trainable
        linear = slots[1] + shrunk - (after - before) / rate * trainable
        quadratic = after / rate + (2.0 * l2_regularization_strength + beta / rate)
        limit = l1_regularization_strength
        clipped = tf.clip_by_value(linear, -limit, limit) if limit else 0.0
        return (clipped - linear) / quadratic, (total, linear)

    return Rule(2, update, "squares")


def adam(beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7, amsgrad: bool = False) -> Rule:
    """Adam (Kingma and Ba 2015, sec. 2, the order with epsilon outside); amsgrad: Reddi et al. 2018.

    For amsgrad see alg. 2. Slots: the two moments, and the largest second moment if amsgrad.
    """

    def update(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        first = slots[0] + (gradient.values - slots[0]) * (1.0 - beta_1)
        second = slots[1] + (gradient.squares - slots[1]) * (1.0 - beta_2)
        first_correction, second_correction = one_minus_powers((beta_1, beta_2), step)
        scale = rate * tf.sqrt(second_correction) / first_correction
        new_slots: Slots = (first, second)
        if amsgrad:
            new_slots = (first, second, tf.maximum(slots[2], second))
        return trainable - first * scale / (tf.sqrt(new_slots[-1]) + epsilon), new_slots

    return Rule(3 if amsgrad else 2, update, "squares")


def adamax(beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7) -> Rule:
    """Adamax (Kingma and Ba 2015, alg. 2); slots: first moment and infinity norm."""

    def update(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        first = slots[0] + (gradient.values - slots[0]) * (1.0 - beta_1)
        norm = tf.maximum(beta_2 * slots[1], gradient.magnitudes)
        (first_correction,) = one_minus_powers((beta_1,), step)
        scale = rate / first_correction
        return trainable - first * scale / (norm + epsilon), (first, norm)

    return Rule(2, update, "magnitudes")


def nadam(beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7) -> Rule:
    """Adam with Nesterov's look-ahead (Dozat 2016, alg. 8, Keras' schedule of 0.96); slots: moments."""
    # The products of (1 - 0.96 ** i / 2), which converge before i = 500.
    products = [1.0]
    for i in range(1, 500):
        products.append(products[-1] * (1.0 - 0.5 * 0.96**i))

    def update(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        momentum = beta_1 * (1.0 - 0.5 * power(0.96, step))
        next_momentum = beta_1 * (1.0 - 0.5 * power(0.96, step + 1.0))
        product = power(beta_1, step) * table(products, step)
        first = slots[0] + (gradient.values - slots[0]) * (1.0 - beta_1)
        second = slots[1] + (gradient.squares - slots[1]) * (1.0 - beta_2)
        moment_rate = rate * next_momentum / (1.0 - product * next_momentum)
        gradient_rate = rate * (1.0 - momentum) / (1.0 - product)
        change = moment_rate * first + gradient_rate * gradient.values
        # The bias correction is a scalar, so it is cheaper after the root.
        (second_correction,) = one_minus_powers((beta_2,), step)
        root = tf.sqrt(second) * (1.0 / tf.sqrt(second_correction))
        return trainable - change / (root + epsilon), (first, second)

    return Rule(2, update, "squares")
