"""Checks that the recipe of work units fits the clients' optimizer and the number of units in an epoch."""

from __future__ import annotations

from collections.abc import Sequence

from backend.formats.task_file.model import OptimizerTable
from backend.formats.task_file.task_file import TaskFile
from backend.formats.task_file.units import DcAsgd, Downpour, FedBuff

RECIPE = "coordination.units.assimilation"
# Keys of an optimizer without which its step is the learning rate times the gradient.
_CHANGES_STEP = (
    "schedule",
    "momentum",
    "nesterov",
    "weight_decay",
    "clipnorm",
    "clipvalue",
    "global_clipnorm",
    "gradient_accumulation_steps",
)


def stated_plain(file: TaskFile) -> bool | None:
    """Returns whether the task file has clients take plain gradient descent; None if its model decides."""
    if file.model.objectives is not None or file.training.proximal_mu > 0.0:
        return False
    return None if file.model.optimizer is None else _is_plain(file.model.optimizer)


def optimizer_conflict(file: TaskFile, plain: bool) -> str | None:
    """Returns a sentence if the recipe does not fit clients whose steps are `plain` gradient descent, or not.

    DC-ASGD needs the gradient, which only plain descent leaves in a result (Zheng et al. 2017, equation 10).
    """
    units = file.coordination.units
    if units is None or not isinstance(units.assimilation, DcAsgd):
        return None
    stated = units.assimilation.client_rate is not None
    if plain and stated:
        return (
            f"{RECIPE}.client_rate cannot be combined with plain gradient descent, whose learning rate is "
            "known. Leave it out."
        )
    if plain or stated:
        return None
    return (
        f'{RECIPE}.name = "dc-asgd" needs plain gradient descent: a result of any other optimizer does not '
        'show the gradient. Take optimizer = { name = "sgd" } without momentum, schedule, clipping, '
        "weight_decay, gradient_accumulation_steps or training.proximal_mu; or say "
        f"{RECIPE}.client_rate, and minus the change over this rate is taken for the gradient; or take "
        '"fedasync", which goes with every optimizer.'
    )


def accumulation_conflict(file: TaskFile, accumulated: int) -> str | None:
    """Returns a sentence if units end between two updates of an optimizer that adds up so many gradients.

    A unit begins without gradients of the one before, so that these would be lost.
    """
    units = file.coordination.units
    chosen = None if units is None else units.assimilation
    if not (isinstance(chosen, Downpour) and chosen.n_push and accumulated and chosen.n_push % accumulated):
        return None
    return (
        f"{RECIPE}.n_push is {chosen.n_push}, but the clients' optimizer moves every {accumulated} steps, so "
        f"that units would end with unused gradients. Take a multiple of {accumulated}, or leave "
        "gradient_accumulation_steps out."
    )


def buffer_conflict(file: TaskFile, shards: Sequence[int], batch_size: int) -> str | None:
    """Returns a sentence if an epoch of shards with so many rows each cannot fill FedBuff's buffer."""
    units = file.coordination.units
    if units is None or not isinstance(units.assimilation, FedBuff):
        return None
    count, buffer = units.units_of_epoch(shards, batch_size), units.assimilation.buffer
    if buffer <= count:
        return None
    return (
        f"{RECIPE}.buffer is {buffer}, but an epoch has {count} units, so that it would end without a change "
        f"of the model. Lower it to {count} or less, or make units smaller with coordination.units.rows."
    )


def _is_plain(optimizer: OptimizerTable) -> bool:
    return optimizer.name == "sgd" and not any(getattr(optimizer, key) for key in _CHANGES_STEP)
