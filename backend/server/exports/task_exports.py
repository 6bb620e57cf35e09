"""Provides the exports of a server's tasks: figures, versions in other formats, cards, comparisons."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from backend.errors import BundleError, GoneError, NotFoundError, SettingsError, WithheldError
from backend.formats.manifest import KERAS_FILE
from backend.formats.task_file import TaskFile
from backend.formats.task_file.reading.plan_changes import ChangedValue, apply_changes
from backend.formats.task_file.reading.reader import read_task_tables
from backend.server.drafts.toml import to_toml
from backend.server.exports.export_formats import FORMATS, Format, format_of
from backend.server.exports.exporter import Exporter, ExportSource
from backend.server.exports.file_cache import CachedFile
from backend.server.exports.model_card import Facts, model_card
from backend.server.exports.training_figures import (
    assimilations_csv,
    figures_events,
    figures_json,
    rounds_csv,
    versions_csv,
)
from backend.server.exports.version_comparison import distances
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.integrity.integrity_report import check_status
from backend.server.tasks.task import TASK_FILE
from backend.server.versions.lineage import lineage_of
from backend.server.versions.retention import removal
from backend.server.versions.timeline import version_summary
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import BlobStore, VersionRecord

VERSIONS, ROUNDS, FIGURES, EVENTS = "versions.csv", "rounds.csv", "figures.json", "tensorboard"
# Only tasks of work units have this file.
ASSIMILATIONS = "assimilations.csv"
FIGURE_FILES = (VERSIONS, ROUNDS, FIGURES, EVENTS, ASSIMILATIONS)
README = "README.md"


@dataclass(frozen=True)
class FigureFile:
    """A file of figures with the suggested file name `name`."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class VersionFile:
    """A version in one format with the suggested file name `name`; `made` is None until it is exported."""

    name: str
    format: Format
    made: CachedFile | None


@dataclass(frozen=True)
class Whole:
    """A complete task: its task file, its README, and other files by their names in the archive."""

    toml: str
    readme: str
    files: Sequence[tuple[str, Path | bytes]]


class TaskExports:
    """Exports the results of a server's tasks."""

    def __init__(self, registry: TaskRegistry, blobs: BlobStore, exporter: Exporter) -> None:
        self._registry = registry
        self._blobs = blobs
        self._exporter = exporter

    async def figures(self, task: str, file: str) -> FigureFile:
        """Returns one of FIGURE_FILES of a task. Raises NotFoundError or StoreError."""
        history = self._history(task)
        if file not in FIGURE_FILES:
            names = ", ".join(FIGURE_FILES)
            raise NotFoundError(f"The figures of a task are {names}; '{file[:40]}' is none.")
        if file == ASSIMILATIONS:
            results = await self._registry.task(task).assimilations()
            content = await asyncio.to_thread(assimilations_csv, results)
            return FigureFile(f"{task}-assimilations.csv", "text/csv", content)
        # Copies, because the host changes its own while a thread writes the file.
        versions, evaluations = list(history.versions), dict(history.evaluations)
        if file == VERSIONS:
            content = await asyncio.to_thread(versions_csv, versions, evaluations)
            return FigureFile(f"{task}-versions.csv", "text/csv", content)
        rounds = await history.all_rounds()
        if file == ROUNDS:
            return FigureFile(f"{task}-rounds.csv", "text/csv", await asyncio.to_thread(rounds_csv, rounds))
        if file == FIGURES:
            content = await asyncio.to_thread(figures_json, task, versions, evaluations, rounds)
            return FigureFile(f"{task}-figures.json", "application/json", content)
        content = await asyncio.to_thread(figures_events, versions, evaluations, rounds)
        # TensorBoard finds its files by `tfevents`.
        name = f"events.out.tfevents.{versions[0].created:.0f}.{task}"
        return FigureFile(name, "application/octet-stream", content)

    async def version(self, task: str, number: int) -> dict[str, Any]:
        """Describes a version and its export formats (docs/reference/http.md). Raises NotFoundError."""
        history = self._history(task)
        record = _record(history, number)
        description = _described(history, record)
        best = history.best is not None and history.best.version == number
        return {
            **description,
            "best": best,
            "check": check_status(history.checks.promotion, number),
            "withheld": history.checks.is_withheld(number),
            "files": [] if record.let_go else await self._files(task, record),
        }

    async def card(self, task: str, number: int) -> str:
        """Returns the model card of a version in Markdown. Raises NotFoundError or StoreError."""
        history, host = self._history(task), self._registry.host(task)
        record = _record(history, number)
        rounds = [entry for entry in await history.all_rounds() if entry.round <= record.round]
        facts = Facts(
            task=host.task,
            versions=[version for version in history.versions if version.version <= number],
            evaluation=history.evaluations.get(number),
            rounds=rounds,
            given=await history.contributions(),
            privacy=host.privacy,
            disclosure=self._registry.task(task).disclosure(),
            files={} if record.let_go else await self._hashes(task, record),
        )
        return model_card(facts)

    async def file(self, task: str, number: int, name: str, seconds: float) -> VersionFile:
        """Returns a version in the format `name`; waits at most `seconds` for its export.

        Raises NotFoundError, GoneError, or as Exporter.get.
        """
        format, record = format_of(name), _stored(self._history(task), number)
        source = await self._source(task, record)
        file = await self._exporter.get(source, format, seconds)
        return VersionFile(f"{task}-{number}{format.ending}", format, file)

    def check_offered(self, task: str, number: int) -> None:
        """Raises WithheldError if version `number` is not for everybody, and NotFoundError."""
        checks = self._history(task).checks
        if checks.is_withheld(number):
            raise WithheldError(
                f"Version {number} did not pass its check for signs of a backdoor, or was not checked. Take "
                f"version {checks.offered.version}, which is offered."
            )

    async def weights(self, task: str, number: int) -> Path:
        """Returns the file with the flat vector of a version. Raises NotFoundError or GoneError."""
        return await self._blobs.path(_stored(self._history(task), number).weights)

    async def compare(self, task: str, before: int, after: int) -> dict[str, Any]:
        """Compares two versions (docs/reference/http.md). Raises NotFoundError or GoneError."""
        history = self._history(task)
        first, second = _stored(history, before), _stored(history, after)
        old, new = [await self._blobs.path(record.weights) for record in (first, second)]
        layout = self._registry.host(task).task.bundle.manifest.layout
        whole, variables = await asyncio.to_thread(distances, old, new, layout)
        return {
            "before": _described(history, first),
            "after": _described(history, second),
            "distance": whole.distance,
            "relative": whole.relative,
            "variables": [asdict(variable) for variable in variables],
        }

    async def restore(self, task: str, number: int) -> dict[str, Any]:
        """Restores an earlier version as the newest. Returns its `version_summary`.

        Raises OrderError if the task's state does not allow it, NotFoundError, GoneError or StoreError.
        """
        reason = f"The owner went back to version {number}."
        restored = await self._registry.task(task).restore(number, reason)
        return _described(self._history(task), restored)

    async def forget(self, task: str) -> None:
        """Deletes the cached exports of a task. Raises NotFoundError or StoreError."""
        for record in self._history(task).versions:
            if record.let_go is None:
                source = await self._source(task, record)
                for format in FORMATS.values():
                    if (file := self._exporter.cached(source, format)) is not None:
                        await asyncio.to_thread(file.path.unlink, True)

    async def whole(self, task: str, seconds: float) -> Whole | None:
        """Returns the complete task for its owner; None until the files of its best version are exported.

        Without a version that was measured on held-out examples, it is the one that is offered.

        Raises NotFoundError or StoreError.
        """
        folder, history = self._registry.task(task).folder, self._history(task)
        number = history.best.version if history.best else history.checks.offered.version
        files: list[tuple[str, Path | bytes]] = []
        for name in ("safetensors", "keras"):
            try:
                file = await self.file(task, number, name, seconds)
            except (BundleError, SettingsError):
                continue  # This model or server does not support the format; the weights are included anyway.
            if file.made is None:
                return None
            files.append((file.name, file.made.path))
        files.append(("MODEL_CARD.md", (await self.card(task, number)).encode()))
        figures = {name: await self.figures(task, name) for name in (VERSIONS, ROUNDS, FIGURES)}
        files += [(f"figures/{name}", figure.content) for name, figure in figures.items()]
        toml, readme = await asyncio.to_thread(_texts, folder, self._registry.task(task).changes)
        return Whole(toml, readme, [*files, *await asyncio.to_thread(_other_files, folder)])

    def _history(self, task: str) -> VersionHistory:
        return self._registry.host(task).history

    async def _source(self, task: str, record: VersionRecord) -> ExportSource:
        hosted = self._registry.host(task).task
        bundle = hosted.bundle
        file = bundle.manifest.files.get(KERAS_FILE)
        return ExportSource(
            bundle=bundle.address,
            weights=record.weights,
            layout=bundle.manifest.layout,
            values=await self._blobs.path(record.weights),
            model=await self._blobs.path(file.sha256) if file else None,
            # Without the version's number, so that versions of the same weights share a file.
            about={"bundle": bundle.address, "weights": record.weights},
            training=_training(hosted.file),
        )

    async def _files(self, task: str, record: VersionRecord) -> list[dict[str, Any]]:
        source = await self._source(task, record)
        files = [(format, self._exporter.cached(source, format)) for format in FORMATS.values()]
        return [
            {
                "format": format.name,
                "title": format.title,
                "sha256": file.sha256 if file else None,
                "bytes": file.bytes if file else None,
            }
            for format, file in files
        ]

    async def _hashes(self, task: str, record: VersionRecord) -> dict[str, str]:
        """Returns the hashes of the files that are exported already, by format."""
        files = await self._files(task, record)
        return {file["format"]: file["sha256"] for file in files if file["sha256"] is not None}


def _training(file: TaskFile) -> str:
    """Returns the part of a task file by which Keras trains on; [training] may have another learning rate."""
    model = _given(msgspec.to_builtins(file.model))
    optimizer, rate = model.get("optimizer"), file.training.learning_rate
    if optimizer is not None and "schedule" not in optimizer and rate is not None:
        optimizer["learning_rate"] = rate
    return to_toml({"name": file.name, "model": model})


def _given(value: Any) -> Any:
    """Returns tables without the keys that have no value."""
    if isinstance(value, dict):
        return {key: _given(entry) for key, entry in value.items() if entry is not None}
    return [_given(entry) for entry in value] if isinstance(value, list) else value


def _texts(folder: Path, changes: Sequence[ChangedValue]) -> tuple[str, str]:
    """Returns task file and README; a changed plan is in a task file without the comments of its own."""
    path, readme = folder / TASK_FILE, folder / README
    toml = path.read_text("utf-8")
    if changes:
        tables = read_task_tables(path)
        apply_changes(tables, changes)
        toml = to_toml(tables)
    return toml, readme.read_text("utf-8") if readme.is_file() else ""


def _other_files(folder: Path) -> list[tuple[str, Path | bytes]]:
    """Returns the files of a task's folder except task file and README: bundle and shards."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    return [
        (str(path.relative_to(folder)), path)
        for path in paths
        if path not in (folder / TASK_FILE, folder / README)
    ]


def _described(history: VersionHistory, record: VersionRecord) -> dict[str, Any]:
    return version_summary(record, history.evaluations.get(record.version), lineage_of(history.versions))


def _record(history: VersionHistory, number: int) -> VersionRecord:
    record = next((version for version in history.versions if version.version == number), None)
    if record is None:
        raise NotFoundError(f"There is no version {number}; the newest is {history.current.version}.")
    return record


def _stored(history: VersionHistory, number: int) -> VersionRecord:
    record = _record(history, number)
    if record.let_go is not None:
        reason = removal(record, history.checkpoints)
        raise GoneError(f"{reason} The task's page lists the stored ones.")
    return record
