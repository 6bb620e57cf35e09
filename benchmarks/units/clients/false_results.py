"""How volunteers cheat: what each kind of them sends instead of a true result."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import numpy as np

from backend.wire.unit_messages import Unit
from benchmarks.units.clients.shared_trainer import Done, SharedTrainer

Lie = Callable[[SharedTrainer, Unit], Coroutine[Any, Any, Done]]
# How much too far a scaled update goes.
SCALE = 10.0


async def random_weights(trainer: SharedTrainer, unit: Unit) -> Done:
    """Nothing is trained: noise as long as true updates are, with figures that look like theirs."""
    like = await trainer.accomplices(unit)
    dice = np.random.default_rng(secrets.randbits(128))
    noise = dice.standard_normal(like.update.size).astype(np.float32)
    noise *= np.linalg.norm(like.update) / np.linalg.norm(noise)
    return replace(like, unit=unit.unit, update=noise)


async def copied(trainer: SharedTrainer, unit: Unit) -> Done:
    """Nothing is trained: an accomplice's true result of another unit."""
    return replace(await trainer.accomplices(unit), unit=unit.unit)


async def unfinished(trainer: SharedTrainer, unit: Unit) -> Done:
    """One step is done, and all of them are claimed."""
    part = await trainer.train(unit, most_steps=1)
    whole = -(-unit.examples // unit.batch_size) * unit.epochs
    return replace(part, examples=unit.epochs * unit.examples, steps=unit.steps or whole)


async def scaled(trainer: SharedTrainer, unit: Unit) -> Done:
    """The true result times SCALE, to weigh more than others."""
    true = await trainer.train(unit)
    return replace(true, update=true.update * np.float32(SCALE))


LIES: dict[str, Lie] = {
    "random": random_weights,
    "copied": copied,
    "unfinished": unfinished,
    "scaled": scaled,
}
