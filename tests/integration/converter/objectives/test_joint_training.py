"""Bundles with objectives train for many steps as the loops of the Keras guides do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from numpy.typing import NDArray

from converter.objectives.objective_tables import read_objectives
from converter.validation.second_opinion.fixed_draws import fixed_draws
from tests.integration.converter.conftest import Convert
from tests.support.keras import joint_models as models
from tests.support.keras.native import NativeBundle, train
from tests.support.keras.reference import uniform_input

pytestmark = pytest.mark.tensorflow
ROWS, STEPS, SEED = 16, 40, 11
Images = NDArray[np.float32]
# A step's losses, by the variables that each trains.
Losses = Callable[[Any, Any], list[tuple[Any, list[Any]]]]


@pytest.fixture(autouse=True)
def seed() -> Iterator[None]:
    keras.utils.set_random_seed(3)
    yield
    keras.backend.clear_session()


def stripes() -> list[Images]:
    """Batches of images [8, 8, 1] with one bright row or column each."""
    generator = np.random.default_rng(5)
    images = generator.uniform(0.0, 0.2, (STEPS, ROWS, 8, 8, 1)).astype(np.float32)
    for index in np.ndindex(STEPS, ROWS):
        place = generator.integers(8)
        images[index][place] += 0.8
    return list(images)


def triplets() -> list[dict[str, Images]]:
    """Batches of points [10] of four classes: two of one class, and one of another."""
    generator = np.random.default_rng(6)
    centres = generator.normal(size=(4, 10))
    batches = []
    for _ in range(STEPS):
        same = generator.integers(4, size=ROWS)
        other = (same + generator.integers(1, 4, size=ROWS)) % 4
        chosen = {"anchor": same, "positive": same, "negative": other}
        batches.append(
            {
                name: (centres[kind] + generator.normal(0.0, 0.7, (ROWS, 10))).astype(np.float32)
                for name, kind in chosen.items()
            }
        )
    return batches


def by_keras(model: Any, batches: list[Any], losses: Losses, optimizers: list[Any], random: Any) -> list[Any]:
    """The losses of each step of a loop as the guides write it, on the draws of a bundle."""
    history = []
    for step, batch in enumerate(batches, 1):
        draws = [uniform_input(tuple(r["shape"]), SEED, step, k).numpy() for k, r in enumerate(random)]
        with fixed_draws(draws), tf.GradientTape(persistent=True) as tape:
            parts = losses(model(batch, training=True), batch)
        gradients = [tape.gradient(loss, [v.value for v in variables]) for loss, variables in parts]
        for optimizer, gradient, (_, variables) in zip(optimizers, gradients, parts, strict=True):
            optimizer.apply(gradient, variables)
        history.append([float(loss) for loss, _ in parts])
    return history


def by_bundle(bundle: NativeBundle, batches: list[Any]) -> Any:
    inputs = [entry["name"] for entry in bundle.manifest["inputs"]]
    fed = [
        {
            **{f"x_{i}": batch[name] if isinstance(batch, dict) else batch for i, name in enumerate(inputs)},
            "sample_weight": np.ones(ROWS),
        }
        for batch in batches
    ]
    return train(bundle, fed, SEED)


def converted(convert: Convert, model: Any, objectives: Any, **optimizer: Any) -> NativeBundle:
    return convert(
        model, ROWS, loss=None, objectives=read_objectives(objectives), optimizer=optimizer or None
    )


def test_a_variational_autoencoder_learns_as_in_keras(convert: Convert) -> None:
    model, batches = models.autoencoder(), stripes()
    bundle = converted(convert, model, models.AUTOENCODER, name="adam", learning_rate=0.01)

    def losses(outputs: Any, image: Any) -> list[tuple[Any, list[Any]]]:
        entropy = keras.losses.binary_crossentropy(image, outputs["reconstruction"])
        reconstruction = ops.mean(ops.sum(entropy, axis=(1, 2)))
        mean, log_variance = outputs["mean"], outputs["log_variance"]
        divergence = -0.5 * (1 + log_variance - ops.square(mean) - ops.exp(log_variance))
        total = reconstruction + ops.mean(ops.sum(divergence, axis=1))
        return [(total, model.trainable_variables)]

    theirs = by_keras(model, batches, losses, [keras.optimizers.Adam(0.01)], bundle.manifest["random"])
    ours = by_bundle(bundle, batches)
    np.testing.assert_allclose(ours.losses, np.ravel(theirs), rtol=1e-4)
    assert np.mean(ours.losses[-5:]) < 0.85 * ours.losses[0]
    for metric in ours.metrics:
        assert set(metric) == {"reconstruction_loss", "kl_divergence_to_normal_loss"}


@pytest.mark.long
def test_an_adversarial_pair_learns_as_in_keras(convert: Convert) -> None:
    model, batches = models.adversarial(), stripes()
    bundle = converted(convert, model, models.ADVERSARIAL)
    judge, maker = model.get_layer("discriminator"), model.get_layer("generator")
    entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    def losses(outputs: Any, image: Any) -> list[tuple[Any, list[Any]]]:
        ones, zeros = ops.ones((len(image), 1)), ops.zeros((len(image), 1))
        judged = entropy(ones, outputs["real"]) + entropy(zeros, outputs["fake"])
        made = entropy(ones, outputs["fake"])
        return [(judged, judge.trainable_variables), (made, maker.trainable_variables)]

    optimizers = [keras.optimizers.Adam(rate, beta_1=0.5) for rate in (0.002, 0.004)]
    theirs = np.array(by_keras(model, batches, losses, optimizers, bundle.manifest["random"]))
    ours = by_bundle(bundle, batches)
    reported = [[m["discriminator_loss"], m["generator_loss"]] for m in ours.metrics]
    np.testing.assert_allclose(reported, theirs, rtol=1e-3)
    np.testing.assert_allclose(ours.losses, theirs.sum(1), rtol=1e-3)
    # The generator deceives the discriminator ever better: one loss falls, and the other rises.
    judged, made = np.array(reported).T
    assert made[-5:].mean() < 0.95 * made[0]
    assert judged[-5:].mean() > 1.1 * judged[0]


def test_triplets_learn_as_in_keras(convert: Convert) -> None:
    model, batches = models.siamese(("anchor", "positive", "negative")), triplets()
    bundle = converted(convert, model, models.TRIPLET, name="adam", learning_rate=0.01)

    def losses(outputs: Any, _batch: Any) -> list[tuple[Any, list[Any]]]:
        near = ops.sum(ops.square(outputs["anchor"] - outputs["positive"]), -1)
        far = ops.sum(ops.square(outputs["anchor"] - outputs["negative"]), -1)
        return [(ops.mean(ops.maximum(near - far + 0.5, 0.0)), model.trainable_variables)]

    theirs = by_keras(model, batches, losses, [keras.optimizers.Adam(0.01)], bundle.manifest["random"])
    ours = by_bundle(bundle, batches)
    np.testing.assert_allclose(ours.losses, np.ravel(theirs), rtol=1e-3, atol=1e-4)
    assert np.mean(ours.losses[-5:]) < 0.5 * ours.losses[0]
