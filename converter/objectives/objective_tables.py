"""Reads `[[model.objectives]]` of a task file: which losses train which variables, by which optimizer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from converter.refusal import Refusal

MAX_OBJECTIVES = 8
INPUT = "input:"
_KEYS = ("name", "trains", "optimizer", "losses")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")
_EXAMPLE = 'losses = [{ output = "image", name = "mean_squared_error", target = "input:image" }]'
_ELSEWHERE = {
    "loss": "write the losses into the objectives",
    "loss_weights": "give each loss of an objective its `weight`",
    "class_weight": "write `sample_weight` into the shards",
}


@dataclass(frozen=True)
class LossTable:
    """One loss: its outputs by name, what they are compared with, and its factor in the objective's sum.

    `target` is a constant, `input:NAME`, or None for a label in the shards.
    """

    outputs: tuple[str, ...]
    name: str
    settings: Mapping[str, Any]
    weight: float = 1.0
    target: float | str | None = None


@dataclass(frozen=True)
class ObjectiveTable:
    """One objective; `trains` None takes the variables of no other one, `optimizer` None that of [model]."""

    name: str
    losses: tuple[LossTable, ...]
    trains: tuple[str, ...] | None = None
    optimizer: dict[str, Any] | None = None


def read_objectives(value: Any) -> tuple[ObjectiveTable, ...]:
    """Returns the objectives of a task file. Raises Refusal that names the wrong key."""
    if isinstance(value, dict):
        raise bad_objectives("is a list also where it has one entry: write two brackets on each side")
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_OBJECTIVES:
        raise bad_objectives(f"must be 1 to {MAX_OBJECTIVES} tables, each with `losses`")
    objectives = tuple(_objective(number, entry) for number, entry in enumerate(value, 1))
    if len({objective.name for objective in objectives}) < len(objectives):
        raise bad_objectives('need different names, such as name = "generator" and name = "discriminator"')
    return objectives


def refuse_other_losses(model: Mapping[str, Any]) -> None:
    """Raises Refusal if the table [model] has objectives and also a key that they replace."""
    for key, remedy in _ELSEWHERE.items():
        if key in model:
            raise bad_objectives(f"cannot be combined with `{key}`; {remedy} and leave `{key}` out")


def bad_objectives(sentence: str) -> Refusal:
    """Returns a Refusal about [[model.objectives]]; `sentence` has no full stop."""
    return Refusal(f"[[model.objectives]] {sentence}.", "bad-task")


def _objective(number: int, table: Any) -> ObjectiveTable:
    if not isinstance(table, dict):
        raise bad_objectives("must be tables")
    name = table.get("name", f"objective_{number}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise bad_objectives("need a `name` of at most 32 letters, digits, _ and -")
    if unknown := sorted(set(table) - set(_KEYS)):
        raise bad_objectives(f"{name} has the unknown key `{unknown[0]}`; it may have {', '.join(_KEYS)}")
    losses = table.get("losses")
    if not isinstance(losses, list) or not losses:
        raise bad_objectives(f"{name} needs a list of losses, such as {_EXAMPLE}")
    optimizer = table.get("optimizer")
    if optimizer is not None and not (isinstance(optimizer, dict) and isinstance(optimizer.get("name"), str)):
        raise bad_objectives(f'{name} has an `optimizer` that is no table such as {{ name = "adam" }}')
    trains = table.get("trains")
    if trains is not None and not _strings(trains):
        raise bad_objectives(f'{name} has `trains` that is no list of patterns such as ["generator/*"]')
    return ObjectiveTable(
        name, tuple(_loss(name, loss) for loss in losses), tuple(trains) if trains else None, optimizer
    )


def _loss(objective: str, table: Any) -> LossTable:
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise bad_objectives(f"{objective} has a loss without a `name`; write {_EXAMPLE}")
    settings = {key: value for key, value in table.items() if key not in ("output", "outputs")}
    name, weight, target = settings.pop("name"), settings.pop("weight", 1.0), settings.pop("target", None)
    outputs = table.get("outputs", [table["output"]] if "output" in table else None)
    if outputs is None or not _strings(outputs) or ("output" in table and "outputs" in table):
        raise bad_objectives(
            f"{objective}: the loss {name} needs `output`, the name of one output, or `outputs`, a list"
        )
    if not _is_number(weight) or not abs(weight) < 1e9:
        raise bad_objectives(f"{objective}: the `weight` of the loss {name} must be a number")
    is_input = isinstance(target, str) and target.startswith(INPUT)
    if target is not None and not is_input and not (_is_number(target) and abs(target) < 1e9):
        raise bad_objectives(
            f"{objective}: the `target` of the loss {name} must be a number, such as 1.0, or an input, such "
            'as "input:image"; leave it out for a label in the shards'
        )
    return LossTable(tuple(outputs), name, settings, float(weight), target)


def _strings(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, str) for entry in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
