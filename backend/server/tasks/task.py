"""Loads a task from its folder and checks its file, bundle, shards and README."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from backend.errors import TaskFileError
from backend.formats.task_file import StopTable, TaskFile, read_task_file
from backend.formats.task_file.reading.plan_changes import ChangedValue
from backend.formats.task_file.server_optimizer import hyperparameters, name_of
from backend.numerics.aggregation.server_optimizers import SERVER_OPTIMIZERS, ServerOptimizer
from backend.numerics.masking.bit_packing import masked_bytes
from backend.numerics.masking.sparse import chosen_values
from backend.protocols.rounds.plan import RoundPlan
from backend.protocols.rounds.stop_rules import LOSS, Source, StopRules, Watched
from backend.server.tasks.bundle_store import Bundle, store_bundle
from backend.server.tasks.markdown import rendered
from backend.server.tasks.playground import Playground, playground_of
from backend.server.tasks.shard_store import Shards
from backend.server.tasks.task_data import load_data
from backend.server.tasks.task_validation import check_recipe, check_task
from backend.stores.contracts import BlobStore
from backend.wire.messages import Privacy

TASK_FILE, README = "task.toml", "README.md"
_MAX_README = 1 << 18


@dataclass(frozen=True)
class Task:
    """A loaded task: everything that its host needs to know of it."""

    file: TaskFile
    bundle: Bundle
    shards: Shards
    readme_html: str
    # Address of the blob of zeros with which SCAFFOLD's control variates begin; None if they are not used.
    zero_control: str | None = None

    @property
    def learning_rate(self) -> float:
        """Returns the clients' learning rate: the task file's, else the bundle's; a schedule's factor.

        The bundle's is that of the first objective, where there are several; it scales the others'.
        """
        optimizer, bundled = self.file.model.optimizer, self.bundle.manifest.optimizer
        if self.file.training.learning_rate is not None:
            return self.file.training.learning_rate
        if self.file.model.objectives is not None or bundled.schedule is not None:
            return bundled.learning_rate
        if optimizer is None or optimizer.learning_rate is None:
            return bundled.learning_rate
        return optimizer.learning_rate

    @property
    def batch_size(self) -> int:
        """Returns the rows of a client's step."""
        return self.file.training.batch_size or self.bundle.manifest.batch_size

    @property
    def trial(self) -> Playground | None:
        """Returns how people try the model; None if they cannot."""
        return playground_of(self.file, self.shards.preprocess, self.bundle.manifest)

    @property
    def epochs(self) -> int:
        """Returns the epochs of a round; 0 if the task file sets a number of steps instead."""
        return 0 if self.file.training.steps else self.file.training.epochs or 1

    @property
    def privacy(self) -> Privacy | None:
        """Returns the clipping and noise that clients apply, as sent to them; without the server's own."""
        chosen = self.file.privacy
        if chosen is None:
            return None
        local, examples = chosen.mechanism == "local", chosen.of_examples
        return Privacy(
            clip=chosen.clip if local else 0.0,
            noise=chosen.noise_multiplier if local else 0.0,
            example_clip=chosen.clip if examples else 0.0,
            example_noise=chosen.noise_multiplier if examples else 0.0,
            microbatch=chosen.microbatch if examples else 0,
        )

    def past_steps(self, version: int) -> int:
        """Returns the steps up to `version` of a client in every round: the position in a schedule."""
        if self.bundle.manifest.optimizer.schedule is None:
            return 0
        if self.file.training.steps:
            return version * self.file.training.steps
        # If the data are partitioned, a client has one part: the mean size of the parts stands for it.
        shards, parts = len(self.shards.train), len(set(self.shards.parts)) or 1
        share = min(self.file.data.shards_per_client, shards / parts) * self.shards.examples / shards
        return version * self.epochs * math.ceil(share / self.batch_size)

    def addresses(self) -> frozenset[str]:
        """Returns the addresses of all blobs that clients may fetch, except those of versions."""
        bundle, shards = self.bundle, self.shards
        files = (file.sha256 for file in bundle.manifest.files.values())
        return frozenset([bundle.address, *files, *shards.blobs])

    def plan(self) -> RoundPlan:
        """Returns the plan of the task's rounds."""
        chosen, manifest = self.file.coordination, self.bundle.manifest
        robust = self.file.security.robust
        return RoundPlan(
            rounds=chosen.rounds,
            min_available_clients=chosen.min_available_clients,
            fraction_train=chosen.fraction_train,
            min_train_clients=chosen.min_train_clients,
            over_selection=chosen.over_selection,
            quorum=chosen.quorum,
            deadline=chosen.deadline,
            min_deadline=chosen.shortest_deadline,
            adaptive_deadline=chosen.adaptive_deadline,
            gather=chosen.gather,
            grace=chosen.grace,
            epochs=self.epochs,
            steps=self.file.training.steps or 0,
            batch_size=self.batch_size,
            shard_examples=tuple(shard.examples for shard in self.shards.train),
            shard_parts=self.shards.parts,
            shards_per_client=self.file.data.shards_per_client,
            update_bytes=4 * manifest.parameters.total,
            metrics=tuple(manifest.metrics),
            fraction_evaluate=self.file.fraction_evaluate,
            min_evaluate_clients=chosen.min_evaluate_clients,
            evaluate_every=chosen.evaluate_every,
            holdout_examples=tuple(shard.examples for shard in self.shards.measured),
            withheld=self.file.privacy is not None,
            stop=stop_rules(chosen.stop, "server" if self.shards.holdout else "clients"),
            seed=int(self.bundle.address[:8], 16),
            aggregation=self.file.security.aggregation,
            masked_bytes=masked_bytes(
                chosen_values(manifest.parameters.total, self.file.security.masked.share),
                sum(metric.rows for metric in manifest.metrics),
                self.file.security.masked.bits,
            ),
            most_masked=self.file.security.masked.most_clients,
            most_per_household=self.file.security.masked.seats_per_household,
            # Under masks nobody sees a false update, and a group loses it by itself.
            attackers=robust.attackers if robust and not robust.groups else 0,
            masked_groups=self.file.security.groups,
            least_masked=self.file.security.masked.min_clients,
            probation_rounds=self.file.access.probation_rounds,
            newcomer_share=self.file.access.probation.share,
        )

    def server_optimizer(self) -> ServerOptimizer:
        """Returns the optimizer with which the server makes versions from aggregates."""
        chosen = self.file.coordination.server_optimizer
        return SERVER_OPTIMIZERS[name_of(chosen)](**hyperparameters(chosen))


def stop_rules(stop: StopTable, source: Source) -> StopRules:
    """Returns the stop rules of a task file; only evaluations by `source` count."""
    target = stop.target
    return StopRules(
        watched=LOSS if target is None else Watched(target.metric, target.upward),
        target=target.value if target else None,
        patience=stop.patience,
        min_delta=stop.min_delta,
        seconds=stop.seconds,
        source=source,
    )


def find_tasks(folders: Sequence[Path]) -> list[Path]:
    """Returns the task file in each of `folders`, or else those in its subfolders.

    Raises TaskFileError if a folder has none.
    """
    files: list[Path] = []
    for folder in folders:
        own = folder / TASK_FILE
        in_folder = [own] if own.is_file() else sorted(folder.glob(f"*/{TASK_FILE}"))
        if not in_folder:
            raise TaskFileError(f"There is no {TASK_FILE} in {folder} or one folder below; check --tasks.")
        files += in_folder
    return files


def find_launched(folder: Path | None) -> list[Path]:
    """Returns the task files in the subfolders of `folder`, where owners' tasks lie; may be empty."""
    return sorted(folder.glob(f"*/{TASK_FILE}")) if folder is not None else []


def overrides_of(name: str, overrides: Sequence[str]) -> list[str]:
    """Returns the overrides (`name.table.key=value`) of the task `name`, without that name."""
    return [override.partition(".")[2] for override in overrides if override.partition(".")[0] == name]


async def load_task(
    path: Path,
    overrides: Sequence[str],
    allowed: frozenset[str],
    blobs: BlobStore,
    changes: Sequence[ChangedValue] = (),
) -> Task:
    """Loads the task in the file at `path` and copies its public parts into `blobs`.

    `changes` are those of its plan since its launch. Raises TaskFileError, BundleError, DataError or
    StoreError with a sentence that says what is wrong.
    """
    file = await asyncio.to_thread(read_task_file, path, overrides, changes)
    bundle = await store_bundle(path.parent / file.model.bundle, allowed, blobs)
    measure = file.fraction_evaluate > 0
    shards = await load_data(path.parent, file.data, bundle.manifest, blobs, measure)
    readme = await asyncio.to_thread(_readme, path.with_name(README))
    task = Task(file, bundle, shards, readme)
    check_plan(task)
    if file.training.control_variates:
        task = replace(task, zero_control=await _store_zeros(bundle.manifest.parameters.trainable, blobs))
    return task


def check_plan(task: Task) -> None:
    """Raises TaskFileError if the bundle or the shards lack what the task file needs."""
    manifest, shards = task.bundle.manifest, task.shards
    check_task(task.file, manifest, bool(shards.holdout), bool(shards.measured))
    check_recipe(task.file, manifest, [shard.examples for shard in shards.train])
    _ = task.trial


async def _store_zeros(values: int, blobs: BlobStore) -> str:
    with tempfile.TemporaryDirectory() as folder:
        zeros = Path(folder) / "zeros"
        await asyncio.to_thread(zeros.write_bytes, bytes(4 * values))
        return await blobs.put_file(zeros)


def _readme(path: Path) -> str:
    """Returns README.md as HTML; empty if it is missing or too long."""
    if not path.is_file() or path.stat().st_size > _MAX_README:
        return ""
    return rendered(path.read_text(encoding="utf-8", errors="replace"))
