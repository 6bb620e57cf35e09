"""Measures how far rounding moves Keras' own numbers: with other weights, and beside float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Place:
    """A batch and the weights [P] at which Keras computes it, with the random layers' `uniforms`."""

    batch: SampleBatch
    weights: Vector
    uniforms: Sequence[Vector]


def nudged_noise(copy: ModelCopy, layout: Layout, outputs: Sequence[str], place: Place) -> dict[str, float]:
    """Returns the largest relative move of each number when each weight moves by a share of itself (TRIALS).

    `outputs` are the names of the model's outputs. Nothing is returned where draws cannot be repeated.
    """
    generator = np.random.default_rng(3)
    noise: dict[str, float] = {}
    try:
        plain = _numbers(copy, place)
        for nudge, share in TRIALS:
            factors = 1.0 + nudge * generator.choice([-1.0, 1.0], place.weights.shape)
            nudged = _numbers(copy, replace(place, weights=place.weights * factors.astype(np.float32)))
            for name, value in _moves(layout, outputs, plain, nudged).items():
                noise[name] = max(share * value, noise.get(name, 0.0))
    except OtherDrawsError:
        return {}
    return noise


def float64_noise(
    copy: ModelCopy,
    load: Callable[[], AbstractContextManager[ModelCopy]],
    layout: Layout,
    outputs: Sequence[str],
    places: Sequence[Place],
) -> dict[str, float]:
    """Returns how far each number lies from the same in float64, which `load` gives a copy for.

    Nudged weights do not show what always rounds in one direction, such as a bias beside a large number.
    Nothing is returned for a model that float64 cannot compute.
    """
    noise: dict[str, float] = {}
    try:
        usual = [_numbers(copy, place) for place in places]
        with load() as precise:
            for place, plain in zip(places, usual, strict=True):
                for name, value in _moves(layout, outputs, _numbers(precise, place), plain).items():
                    noise[name] = max(value, noise.get(name, 0.0))
    except MemoryError:
        raise
    except Exception:  # a layer of the owner's may know float32 only, and raise anything
        return {}
    return noise


def _numbers(copy: ModelCopy, place: Place) -> _Numbers:
    batch = place.batch
    copy.assign(place.weights)
    outputs = copy.predict(batch)
    before = copy.state_values()
    evaluated = copy.evaluate(batch)
    trained = copy.train(batch, list(place.uniforms))
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
