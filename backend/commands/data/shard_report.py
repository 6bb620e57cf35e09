"""Reports the result of `minga shard` as text or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from backend.commands.terminal.tables import listing
from backend.datasets.sharding.cut import Cut
from backend.formats.shard_index import ShardFile
from backend.numerics.preprocess.fitted import FittedText
from backend.server.tasks.formatting import number, size

_CLASSES_SHOWN = 20


def as_json(cut: Cut, folder: Path, broken: Sequence[str]) -> dict[str, Any]:
    """Returns counts, shapes and classes as JSON; docs/how-to/prepare-data.md explains them."""
    return {
        "folder": str(folder),
        "kind": msgspec.to_builtins(cut.fitted)["kind"],
        "inputs": msgspec.to_builtins(cut.fitted.inputs),
        "labels": msgspec.to_builtins(cut.fitted.labels),
        "train": _shards(cut.index.train) | {"classes": cut.train_classes},
        "holdout": _shards(cut.index.holdout) | {"classes": cut.holdout_classes},
        "parts": cut.part_classes,
        "broken": list(broken),
    }


def _shards(shards: Sequence[ShardFile]) -> dict[str, int]:
    return {
        "examples": sum(shard.examples for shard in shards),
        "shards": len(shards),
        "bytes": sum(shard.bytes for shard in shards),
    }


def print_cut(cut: Cut, folder: Path, broken: int, console: Console) -> None:
    """Prints counts and classes of the data, and the shapes that the model must have."""
    for name, shards in (("to train on", cut.index.train), ("held out", cut.index.holdout)):
        counted = _shards(shards)
        if counted["shards"]:
            amount = f"{counted['shards']} shards, {size(counted['bytes'])}"
            console.print(f"{number(counted['examples'])} examples {name}: {amount}.")
    for what, specs in (("An input", cut.fitted.inputs), ("A label", cut.fitted.labels)):
        for spec in specs:
            console.print(f"{what} is {spec.dtype} {spec.shape}.", markup=False)
    if isinstance(cut.fitted, FittedText):
        console.print(f"{number(cut.fitted.ids)} token ids.")
    if cut.train_classes or cut.holdout_classes:
        console.print(Padding(_classes(cut), (0, 0, 0, 2)))
    if broken:
        console.print(f"{number(broken)} broken files or rows were left out.")
    console.print(f"Written to {folder}.", markup=False)


def _classes(cut: Cut) -> Table:
    clients = (f">client {place + 1}" for place in range(len(cut.part_classes)))
    table = listing("class", ">train", ">held out", *clients)
    names = list(dict.fromkeys([*cut.train_classes, *cut.holdout_classes]))
    for name in names[:_CLASSES_SHOWN]:
        counts = (cut.train_classes, cut.holdout_classes, *cut.part_classes)
        table.add_row(escape(name), *(_count(class_counts, name) for class_counts in counts))
    if len(names) > _CLASSES_SHOWN:
        table.add_row(f"and {len(names) - _CLASSES_SHOWN} more")
    return table


def _count(counts: Mapping[str, int], name: str) -> str:
    return number(counts.get(name, 0))
