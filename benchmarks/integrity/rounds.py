"""Trains the updates of single rounds, with and without attackers, and clusters them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from backend.lab.attacks.picture_backdoors import Labels, poisoned, trigger_backdoor
from backend.numerics.integrity.update_clusters import update_clusters
from benchmarks.integrity.models import CLASSES, HELD_OUT, Pool

CLIENTS, ATTACKERS = 10, 3
# Dirichlet's concentration of the classes at a client (Hsu et al. 2019).
_SKEW = 0.3
_EXAMPLES, _EPOCHS, _RATE = 120, 3, 0.05


@dataclass(frozen=True)
class ClusteredRound:
    """The minority of a round's updates. `right` says whether it is exactly the attackers."""

    seed: int
    skewed: bool
    attackers: int
    separation: float
    right: bool


def clustered_rounds(pool: Pool, seed: int) -> list[ClusteredRound]:
    """Trains four rounds from one model: with even and skewed classes, without and with attackers."""
    keras.utils.set_random_seed(seed)
    random = np.random.default_rng(seed)
    train = random.permutation(len(pool.x))[HELD_OUT:]
    model = pool.build()
    model.fit(pool.x[train], pool.y[train], batch_size=32, epochs=2, verbose=0)
    # Without a state that would carry over from client to client.
    model.compile(keras.optimizers.SGD(_RATE), "sparse_categorical_crossentropy")
    start = model.get_weights()
    rounds = []
    for skewed in (False, True):
        parts = [_part(pool, train, skewed, random) for _ in range(CLIENTS)]
        honest = [_update(model, start, pool.x[part], pool.y[part]) for part in parts]
        backdoor = trigger_backdoor("corner", pool.x.shape[1:], CLASSES, random)
        lies = []
        for part in parts[:ATTACKERS]:
            x, y = poisoned(backdoor, pool.x[part], pool.y[part], random, share=0.5)
            lies.append(_update(model, start, x, y))
        rounds.append(_clustered(seed, skewed, 0, honest))
        rounds.append(_clustered(seed, skewed, ATTACKERS, lies + honest[ATTACKERS:]))
    return rounds


def _part(pool: Pool, train: Labels, skewed: bool, random: np.random.Generator) -> Labels:
    """Returns a client's examples: drawn evenly, or by class shares of a Dirichlet distribution."""
    if not skewed:
        return random.choice(train, _EXAMPLES, replace=False)
    shares = random.dirichlet(np.full(CLASSES, _SKEW))
    weights = shares[pool.y[train]] / np.bincount(pool.y[train], minlength=CLASSES)[pool.y[train]]
    return random.choice(train, _EXAMPLES, replace=True, p=weights / weights.sum())


def _update(model: Any, start: list[Any], x: NDArray[Any], y: Labels) -> NDArray[np.float32]:
    model.set_weights(start)
    model.fit(x, y, batch_size=32, epochs=_EPOCHS, verbose=0)
    ends = zip(model.get_weights(), start, strict=True)
    update: NDArray[np.float32] = np.concatenate([(after - before).ravel() for after, before in ends])
    return update


def _clustered(seed: int, skewed: bool, attackers: int, updates: list[NDArray[np.float32]]) -> ClusteredRound:
    found = update_clusters(np.stack(updates))
    right = found.members == tuple(range(attackers))
    return ClusteredRound(seed, skewed, attackers, round(found.separation, 3), right)
