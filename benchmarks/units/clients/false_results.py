"""Makes the false results of each kind of cheat."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import numpy as np

from backend.wire.unit_messages import Unit
from benchmarks.units.clients.shared_trainer import Done, SharedTrainer

Lie = Callable[[SharedTrainer, Unit], Coroutine[Any, Any, Done]]
# The factor of a scaled update.
SCALE = 10.0


async def random_weights(trainer: SharedTrainer, unit: Unit) -> Done:
    """Trains nothing: sends noise of a true update's norm, with plausible figures."""
    template = await trainer.copyable_result(unit)
    generator = np.random.default_rng(secrets.randbits(128))
    noise = generator.standard_normal(template.update.size).astype(np.float32)
    noise *= np.linalg.norm(template.update) / np.linalg.norm(noise)
    return replace(template, unit=unit.unit, update=noise)


async def copied(trainer: SharedTrainer, unit: Unit) -> Done:
    """Trains nothing: copies an accomplice's true result of another unit."""
    return replace(await trainer.copyable_result(unit), unit=unit.unit)


async def unfinished(trainer: SharedTrainer, unit: Unit) -> Done:
    """Trains one step and claims all of them."""
    one_step = await trainer.train(unit, max_steps=1)
    all_steps = -(-unit.examples // unit.batch_size) * unit.epochs
    return replace(one_step, examples=unit.epochs * unit.examples, steps=unit.steps or all_steps)


async def scaled(trainer: SharedTrainer, unit: Unit) -> Done:
    """Scales the true result by SCALE, so that it weighs more than others."""
    true = await trainer.train(unit)
    return replace(true, update=true.update * np.float32(SCALE))


LIES: dict[str, Lie] = {
    "random": random_weights,
    "copied": copied,
    "unfinished": unfinished,
    "scaled": scaled,
}
