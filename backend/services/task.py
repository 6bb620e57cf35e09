"""A task as it lies in its folder: file, bundle, shards and text, all checked."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from backend.errors import TaskFileError
from backend.numerics.server_optimizers import SERVER_OPTIMIZERS, ServerOptimizer
from backend.protocols.round import Plan
from backend.services.bundles import Bundle, store_bundle
from backend.services.shards import Shards
from backend.services.taskdata import load_data
from backend.services.taskfile import TaskFile, read_task_file
from backend.stores.contracts import Blobs

TASK_FILE = "task.toml"
_MAX_README = 1 << 18


@dataclass(frozen=True)
class Task:
    """Everything a host needs to know of its task."""

    file: TaskFile
    bundle: Bundle
    shards: Shards
    readme_html: str

    @property
    def learning_rate(self) -> float:
        """The clients' learning rate: the task file's, else the bundle's; a schedule's factor."""
        optimizer, bundled = self.file.model.optimizer, self.bundle.manifest.optimizer
        if optimizer is None or optimizer.learning_rate is None or bundled.schedule is not None:
            return bundled.learning_rate
        return optimizer.learning_rate

    def past_steps(self, version: int) -> int:
        """Steps that a client took up to `version`, had it been in every round: a schedule's position."""
        if self.bundle.manifest.optimizer.schedule is None:
            return 0
        shards = self.shards.train
        share = min(self.file.data.shards_per_client, len(shards)) * self.shards.examples / len(shards)
        steps = self.file.training.epochs * math.ceil(share / self.bundle.manifest.batch_size)
        return version * steps

    def plan(self) -> Plan:
        """What its rounds are like."""
        chosen = self.file.coordination
        return Plan(
            rounds=chosen.rounds,
            min_available_clients=chosen.min_available_clients,
            quorum=chosen.quorum,
            deadline=chosen.deadline,
            gather=chosen.gather,
            epochs=self.file.training.epochs,
            shard_examples=tuple(shard.examples for shard in self.shards.train),
            shard_parts=self.shards.parts,
            shards_per_client=self.file.data.shards_per_client,
            update_bytes=4 * self.bundle.manifest.parameters.total,
            metric_rows=sum(metric.rows for metric in self.bundle.manifest.metrics),
            seed=int(self.bundle.address[:8], 16),
        )

    def server_optimizer(self) -> ServerOptimizer:
        """How its versions are made."""
        chosen = self.file.coordination.server_optimizer
        hyperparameters = {"learning_rate": chosen.learning_rate}
        if chosen.momentum is not None:
            hyperparameters["momentum"] = chosen.momentum
        return SERVER_OPTIMIZERS[chosen.name](**hyperparameters)


def find_tasks(folders: Sequence[Path]) -> list[Path]:
    """Task files in `folders`: of each itself, or else of its subfolders. TaskFileError if there is none."""
    found: list[Path] = []
    for folder in folders:
        own = folder / TASK_FILE
        here = [own] if own.is_file() else sorted(folder.glob(f"*/{TASK_FILE}"))
        if not here:
            raise TaskFileError(f"There is no {TASK_FILE} in {folder} or one folder below; check --tasks.")
        found += here
    return found


def overrides_of(name: str, overrides: Sequence[str]) -> list[str]:
    """Those of `name.table.key=value` that are for the task `name`, without that name."""
    return [override.partition(".")[2] for override in overrides if override.partition(".")[0] == name]


async def load_task(path: Path, overrides: Sequence[str], allowed: frozenset[str], blobs: Blobs) -> Task:
    """The task in the file at `path`, its public parts copied into `blobs`.

    Raises TaskFileError, BundleError or StoreError with a sentence that says what is wrong.
    """
    file = await asyncio.to_thread(read_task_file, path, overrides)
    bundle = await store_bundle(path.parent / file.model.bundle, allowed, blobs)
    shards = await load_data(path.parent, file.data, bundle.manifest, blobs)
    return Task(file, bundle, shards, await asyncio.to_thread(_readme, path.with_name("README.md")))


def _readme(path: Path) -> str:
    """README.md as HTML. Raw HTML in it is shown as text; links are checked by the renderer."""
    if not path.is_file() or path.stat().st_size > _MAX_README:
        return ""
    text = path.read_text(encoding="utf-8", errors="replace")
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return html
