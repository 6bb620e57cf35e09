"""Measures how far Keras' own numbers move when float32 rounds its weights otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.tracing.vector_layout import Layout
from converter.validation.second_opinion.differences import cancellation, difference, part_differences
from converter.validation.second_opinion.fixed_draws import OtherDrawsError
from converter.validation.second_opinion.model_copy import ModelCopy
from converter.validation.second_opinion.sample_batches import SampleBatch

Vector = NDArray[np.float32]
# Nudges of the weights, and what part of the moves counts. One nudge may by chance move a number little; the
# last one is large enough to cross thresholds, such as relu's, that lie a few roundings away.
TRIALS = ((1e-7, 1.0), (1e-7, 1.0), (1e-6, 0.2))


@dataclass(frozen=True)
class _Numbers:
    """What Keras computes at some weights: outputs, loss, metrics, variables' gradients, states' moves."""

    outputs: list[Any]
    loss: float
    metrics: dict[str, float]
    gradients: list[Vector]
    moved: list[Vector]


def rounding_noise(
    copy: ModelCopy,
    layout: Layout,
    outputs: Sequence[str],
    batch: SampleBatch,
    uniforms: Sequence[Vector],
) -> dict[str, float]:
    """Returns the largest relative move of each number when each weight moves by a share of itself (TRIALS).

    `outputs` are the names of the model's outputs. Nothing is returned where draws cannot be repeated.
    """
    vector = layout.values()
    generator = np.random.default_rng(3)
    noise: dict[str, float] = {}
    try:
        plain = _numbers(copy, vector, batch, uniforms)
        for nudge, share in TRIALS:
            signs = generator.choice([-1.0, 1.0], vector.shape)
            nudged = _numbers(copy, vector * (1.0 + nudge * signs).astype(np.float32), batch, uniforms)
            for name, value in _moves(layout, outputs, plain, nudged).items():
                noise[name] = max(share * value, noise.get(name, 0.0))
    except OtherDrawsError:
        return {}
    return noise


def _numbers(copy: ModelCopy, weights: Vector, batch: SampleBatch, uniforms: Sequence[Vector]) -> _Numbers:
    copy.assign(weights)
    outputs = copy.predict(batch)
    before = copy.state_values()
    evaluated = copy.evaluate(batch)
    trained = copy.train(batch, list(uniforms))
    moved = [after - state for state, after in zip(before, copy.state_values(), strict=True)]
    named = (("in training", trained), ("in an evaluation", evaluated))
    metrics = {f"the metric {name} {when}": v for when, logs in named for name, v in logs.items()}
    return _Numbers(outputs, trained["loss"], metrics, copy.gradients, moved)


def _moves(layout: Layout, outputs: Sequence[str], plain: _Numbers, nudged: _Numbers) -> dict[str, float]:
    trainable = [f"the gradient of {entry.name}" for entry in layout.entries if entry.trainable]
    noise = part_differences(trainable, nudged.gradients, plain.gradients)
    for name, lost in cancellation(trainable, plain.gradients, plain.loss).items():
        noise[name] = max(noise[name], lost)
    # The length of a sum may stay by chance where its parts move, so the distance counts.
    whole, moved = (np.concatenate([g.ravel() for g in one.gradients]) for one in (plain, nudged))
    noise["the length of the gradient"] = difference(moved, whole)
    states = [f"the state {entry.name}" for entry in layout.entries if not entry.trainable]
    noise |= part_differences(states, nudged.moved, plain.moved)
    for name, first, second in zip(outputs, plain.outputs, nudged.outputs, strict=True):
        noise[f"the output {name}"] = difference(second, first)
    noise |= {name: difference(nudged.metrics[name], value) for name, value in plain.metrics.items()}
    of_loss = difference(nudged.loss, plain.loss)
    return noise | {f"the loss {when}": of_loss for when in ("in training", "in an evaluation")}
