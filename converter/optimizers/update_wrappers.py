"""Wraps an update rule as Keras does: clipping, weight decay, accumulation, constraints."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tensorflow as tf

from converter.optimizers.gradient import Gradient
from converter.optimizers.scalar_math import full_steps
from converter.optimizers.update_rules import Rule, Slots
from converter.tracing.vector_layout import Layout

Clip = Callable[[Gradient], Gradient]


def clip_by_value(limit: float) -> Clip:
    """Clips every value of the gradient to [-limit, limit]."""
    return lambda gradient: Gradient(tf.clip_by_value(gradient.values, -limit, limit))


def clip_by_global_norm(limit: float) -> Clip:
    """Scales the gradient to an L2 norm of at most `limit` (Pascanu et al. 2013, alg. 1).

    Keras' result has no reads of tables apart.
    """
    return lambda gradient: Gradient(gradient.values * _factor(gradient.squares, limit))


def clip_by_norm(limit: float, layout: Layout) -> Clip:
    """Clips each variable to an L2 norm of at most `limit`; reads of tables stay apart."""
    sizes = [entry.size for entry in layout.entries if entry.trainable]

    def clip(gradient: Gradient) -> Gradient:
        values, squares = _split(gradient.values, sizes), gradient.read_squares
        apart = [None] * len(values) if squares is None else _split(squares, sizes)
        parts = [Gradient(*pair) for pair in zip(values, apart, strict=True)]
        clipped = [part.scaled(_factor(part.squares, limit)) for part in parts]
        joined = None if squares is None else _join([part.read_squares for part in clipped])
        return Gradient(_join([part.values for part in clipped]), joined)

    return clip


def decayed(rule: Rule, weight_decay: float, excluded: tuple[str, ...], layout: Layout) -> Rule:
    """Applies decoupled weight decay before the update (Loshchilov and Hutter 2019).

    A variable is not decayed if one of the regular expressions `excluded` matches within its own name.
    """
    runs = _runs([_is_decayed(e.name, excluded) for e in layout.entries if e.trainable], layout)

    def update(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        parts = _split(trainable, [size for size, _ in runs])
        share = weight_decay * rate
        parts = [
            part - part * share if decays else part for part, (_, decays) in zip(parts, runs, strict=True)
        ]
        return rule.update(_join(parts), slots, gradient, rate, step)

    return replace(rule, update=update)


def accumulated(rule: Rule, steps: float, clip: Clip) -> Rule:
    """Applies the rule to the mean gradient of every `steps` steps; the last slot holds their sum.

    The `step` of the returned rule counts batches; the inner rule's counts updates.
    """

    def update(trainable: Any, slots: Slots, gradient: Gradient, rate: Any, step: Any) -> tuple[Any, Slots]:
        *rule_slots, total = slots
        total = total + gradient.values
        updates = full_steps(step - 1.0, steps)
        due = full_steps(step, steps) > updates
        updated, new_slots = rule.update(
            trainable, tuple(rule_slots), clip(Gradient(total * (1.0 / steps))), rate, updates + 1.0
        )
        new_slots = tuple(tf.where(due, new, old) for new, old in zip(new_slots, rule_slots, strict=True))
        return tf.where(due, updated, trainable), (*new_slots, tf.where(due, tf.zeros_like(total), total))

    return replace(rule, slots=rule.slots + 1, update=update)


def is_constrained(layout: Layout) -> bool:
    """Returns whether any variable has a constraint."""
    return any(variable.constraint is not None for variable in layout.trainable_variables)


def constrained(trainable: Any, layout: Layout) -> Any:
    """Applies the variables' constraints, such as MaxNorm, to the vector [T]."""
    if not is_constrained(layout):
        return trainable
    constraints = [variable.constraint for variable in layout.trainable_variables]
    parts = layout.split_trainable(trainable)
    pairs = zip(parts, constraints, strict=True)
    return _join([tf.reshape(constraint(part) if constraint else part, [-1]) for part, constraint in pairs])


def _factor(squares: Any, limit: float) -> Any:
    return limit / tf.maximum(tf.sqrt(tf.reduce_sum(squares)), limit)


def _is_decayed(path: str, excluded: tuple[str, ...]) -> bool:
    return not any(re.search(pattern, path.rpartition("/")[2]) for pattern in excluded)


def _runs(flags: list[bool], layout: Layout) -> list[tuple[int, bool]]:
    """Merges neighbouring variables with the same flag into runs (size, flag)."""
    runs: list[tuple[int, bool]] = []
    for entry, flag in zip(layout.entries, flags, strict=False):
        size = entry.size
        if runs and runs[-1][1] == flag:
            size += runs.pop()[0]
        runs.append((size, flag))
    return runs


def _split(vector: Any, sizes: list[int]) -> list[Any]:
    return tf.split(vector, sizes) if len(sizes) > 1 else [vector]


def _join(parts: list[Any]) -> Any:
    return tf.concat(parts, 0) if len(parts) > 1 else parts[0]
