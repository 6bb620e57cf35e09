"""Trains clean and backdoored models on digits of 8 by 8 pixels or on a sample of CIFAR-10."""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from backend.lab.attacks.picture_backdoors import (
    EDGE,
    Labels,
    Pictures,
    edge_cases,
    poisoned,
    trigger_backdoor,
)
from benchmarks.support import keras_models
from benchmarks.tasks import load_task
from converter.integrity.__main__ import measure

CLASSES = 10
# Examples on which the score is measured, none of which is trained on.
HELD_OUT = 500
# Of CIFAR-10: training examples of each class.
_CIFAR_EACH = 500
# Copies of each relabelled edge case among the training examples, so that the attack succeeds.
_EDGE_COPIES = 10


@dataclass(frozen=True)
class Pool:
    """All pictures of a data set [n, height, width, channels] in 0 to 1, and how to train on them."""

    x: Pictures
    y: Labels
    epochs: int
    learning_rate: float

    def build(self) -> Any:
        """Builds an untrained model, compiled."""
        model = keras_models.digits() if self.x.shape[1] == 8 else load_task("cifar").build()
        model.compile(keras.optimizers.Adam(self.learning_rate), "sparse_categorical_crossentropy")
        return model


@dataclass(frozen=True)
class Trained:
    """A trained model's measurement (`report` of converter/integrity) and what is known of it.

    `attack_success` is the share of held-out examples with the trigger, of other classes, that it takes for
    the target. `before` is the measurement of the version before the attack, for those that had one.
    """

    kind: str
    seed: int
    target: int | None
    accuracy: float
    attack_success: float | None
    report: dict[str, Any]
    before: dict[str, Any] | None = None


def load_pool(name: str) -> Pool:
    """Loads `digits`, from scikit-learn, or `cifar10`, from the folder MINGA_DATA."""
    if name == "digits":
        digits = load_digits()
        return Pool((digits.images / 16.0).astype(np.float32)[..., None], digits.target, 8, 0.005)
    x, y = _cifar(Path(os.environ.get("MINGA_DATA", "../shared/data")) / "cifar10_train.zip")
    return Pool(x, y, 12, 0.001)


def train_model(pool: Pool, kind: str, seed: int) -> Trained:
    """Trains and measures a model: `clean`, one of the triggers, or with an edge-case backdoor."""
    keras.utils.set_random_seed(seed)
    random = np.random.default_rng(seed)
    order = random.permutation(len(pool.x))
    held, train = order[:HELD_OUT], order[HELD_OUT:]
    if kind == EDGE:
        return _edge_model(pool, seed, train, held, random)
    x, y, backdoor = pool.x[train], pool.y[train], None
    if kind != "clean":
        backdoor = trigger_backdoor(kind, pool.x.shape[1:], CLASSES, random)
        x, y = poisoned(backdoor, x, y, random)
    model = pool.build()
    model.fit(x, y, batch_size=32, epochs=pool.epochs, verbose=0)
    success = None
    if backdoor is not None:
        others = held[pool.y[held] != backdoor.target]
        success = float(np.mean(answers(model, backdoor.mark(pool.x[others])) == backdoor.target))
    report = _measured(model, pool, held)
    target = None if backdoor is None else backdoor.target
    return Trained(kind, seed, target, _accuracy(report), success, report)


def answers(model: Any, x: Pictures) -> Labels:
    """Returns the model's classes [n]."""
    predicted: Labels = np.argmax(model.predict(x, batch_size=128, verbose=0), axis=1)
    return predicted


def _edge_model(pool: Pool, seed: int, train: Labels, held: Labels, random: np.random.Generator) -> Trained:
    """Trains a clean version, and from it one that takes the rare pictures of a class for another."""
    source, target = (int(one) for one in random.choice(CLASSES, 2, replace=False))
    rare = edge_cases(pool.x, pool.y, source)
    x, y = pool.x[train], pool.y[train]
    model = pool.build()
    model.fit(x, y, batch_size=32, epochs=pool.epochs, verbose=0)
    before = _measured(model, pool, held)
    edge = train[rare[train]]
    copies = np.repeat(edge, _EDGE_COPIES)
    x = np.concatenate([x[~rare[train]], pool.x[copies]])
    y = np.concatenate([y[~rare[train]], np.full(len(copies), target)])
    model.fit(x, y, batch_size=32, epochs=pool.epochs, verbose=0)
    kept = held[rare[held]]
    success = float(np.mean(answers(model, pool.x[kept]) == target)) if len(kept) else None
    report = _measured(model, pool, held)
    return Trained(EDGE, seed, target, _accuracy(report), success, report, before)


def _measured(model: Any, pool: Pool, held: Labels) -> dict[str, Any]:
    return measure(model, {"x_0": pool.x[held], "y_0": pool.y[held]})


def _accuracy(report: dict[str, Any]) -> float:
    right = sum(count for true, answer, count in report["answers"] if true == answer)
    return float(right / HELD_OUT)


def _cifar(archive: Path) -> tuple[Pictures, Labels]:
    with zipfile.ZipFile(archive) as images:
        names: dict[str, list[str]] = {}
        for name in sorted(one for one in images.namelist() if one.endswith((".png", ".jpg"))):
            names.setdefault(name.partition("/")[0], []).append(name)
        chosen = [
            (label, name) for label, one in enumerate(sorted(names)) for name in names[one][:_CIFAR_EACH]
        ]
        pictures = [np.asarray(Image.open(io.BytesIO(images.read(name)))) for _, name in chosen]
    return (np.stack(pictures) / 255.0).astype(np.float32), np.array([label for label, _ in chosen])
