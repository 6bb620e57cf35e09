"""Finds which variables each objective trains, by the names of their layers."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from converter.objectives.objective_tables import ObjectiveTable, bad_objectives

Part = tuple[int, ...]


def trained_parts(model: Any, objectives: Sequence[ObjectiveTable]) -> list[Part]:
    """Returns the numbers of the model's trainable variables that each objective trains.

    A pattern is a glob over `layer/variable`, or `model/layer/variable` within a nested model; the name of a
    layer or nested model stands for all its variables. Raises Refusal that names a variable of no objective
    or of two, and a pattern that matches nothing.
    """
    names = variable_names(model)
    found = [_matching(objective, names) for objective in objectives]
    named = set().union(*(part for part in found if part is not None))
    parts = [set(range(len(names))) - named if part is None else part for part in found]
    _check_once(names, objectives, parts)
    return [tuple(sorted(part)) for part in parts]


def variable_names(model: Any) -> list[list[str]]:
    """Returns the names of each trainable variable: one, or several where models share its layer."""
    names: dict[int, list[str]] = {id(variable): [] for variable in model.trainable_variables}

    def walk(layer: Any, prefix: str) -> None:
        for variable in layer._trainable_variables:
            if id(variable) in names and f"{prefix}{variable.name}" not in names[id(variable)]:
                names[id(variable)].append(f"{prefix}{variable.name}")
        for child in layer._flatten_layers(include_self=False, recursive=False):
            walk(child, f"{prefix}{child.name}/")

    walk(model, "")
    return [names[id(variable)] or [variable.path] for variable in model.trainable_variables]


def _matching(objective: ObjectiveTable, names: list[list[str]]) -> set[int] | None:
    if objective.trains is None:
        return None
    found: set[int] = set()
    for pattern in objective.trains:
        matching = {
            number
            for number, own in enumerate(names)
            if any(fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}/*") for name in own)
        }
        if not matching:
            shown = ", ".join(sorted({name.partition("/")[0] for own in names for name in own})[:8])
            raise bad_objectives(
                f'{objective.name}: `trains` has "{pattern}", which no trainable variable matches; they lie '
                f"in {shown}"
            )
        found |= matching
    return found


def _check_once(
    names: list[list[str]], objectives: Sequence[ObjectiveTable], parts: Sequence[set[int]]
) -> None:
    for number, own in enumerate(names):
        owners = [objective.name for objective, part in zip(objectives, parts, strict=True) if number in part]
        if not owners:
            raise bad_objectives(
                f"leave out the variable {own[0]}; add it to the `trains` of one objective, or set "
                "trainable=False on its layer"
            )
        if len(owners) > 1:
            raise bad_objectives(
                f"train the variable {own[0]} twice, in {owners[0]} and {owners[1]}; name it in one of them"
            )
    for objective, part in zip(objectives, parts, strict=True):
        if not part:
            raise bad_objectives(
                f"{objective.name} trains nothing: the other objectives name every variable; leave it out, "
                "or give it `trains`"
            )
