"""What is taken away from the tasks of a server: figures, versions in other formats, cards, comparisons."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backend.errors import BundleError, GoneError, NotFoundError, SettingsError
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
from backend.server.tasks.task import TASK_FILE
from backend.server.versions.lineage import lineage_of
from backend.server.versions.timeline import version_summary
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import BlobStore, VersionRecord

VERSIONS, ROUNDS, FIGURES, EVENTS = "versions.csv", "rounds.csv", "figures.json", "tensorboard"
# Of tasks of work units alone.
ASSIMILATIONS = "assimilations.csv"
FIGURE_FILES = (VERSIONS, ROUNDS, FIGURES, EVENTS, ASSIMILATIONS)
KERAS_FILE = "model.keras"
README = "README.md"


@dataclass(frozen=True)
class FigureFile:
    """A file of figures, to be saved as `name`."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class VersionFile:
    """A version in one format, to be saved as `name`; `made` is None while it is being made."""

    name: str
    format: Format
    made: CachedFile | None


@dataclass(frozen=True)
class Whole:
    """Everything of a task: its file, its text, and other files by the names that they are to have."""

    toml: str
    readme: str
    files: Sequence[tuple[str, Path | bytes]]


class TaskExports:
    """Answers what is asked of the results of a server's tasks."""

    def __init__(self, registry: TaskRegistry, blobs: BlobStore, exporter: Exporter) -> None:
        self._registry = registry
        self._blobs = blobs
        self._exporter = exporter

    async def figures(self, task: str, file: str) -> FigureFile:
        """One of FIGURE_FILES of a task. Raises NotFoundError or StoreError."""
        history = self._history(task)
        if file not in FIGURE_FILES:
            known = ", ".join(FIGURE_FILES)
            raise NotFoundError(f"The figures of a task are {known}; '{file[:40]}' is none.")
        if file == ASSIMILATIONS:
            results = await self._registry.assimilations(task)
            content = await asyncio.to_thread(assimilations_csv, results)
            return FigureFile(f"{task}-assimilations.csv", "text/csv", content)
        # Copies: the host's loop goes on with its own while a thread writes.
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
        # TensorBoard finds its files by this word.
        name = f"events.out.tfevents.{versions[0].created:.0f}.{task}"
        return FigureFile(name, "application/octet-stream", content)

    async def version(self, task: str, number: int) -> dict[str, Any]:
        """A version and the formats it can be had in (docs/reference/http.md). Raises NotFoundError."""
        history = self._history(task)
        record = _record(history, number)
        told = _described(history, record)
        return {**told, "files": [] if record.let_go else await self._files(task, record)}

    async def card(self, task: str, number: int) -> str:
        """The model card of a version, in Markdown. Raises NotFoundError or StoreError."""
        history, host = self._history(task), self._registry.host(task)
        record = _record(history, number)
        rounds = [one for one in await history.all_rounds() if one.round <= record.round]
        facts = Facts(
            task=host.task,
            versions=[one for one in history.versions if one.version <= number],
            evaluation=history.evaluations.get(number),
            rounds=rounds,
            given=await history.contributions(),
            privacy=host.privacy,
            disclosure=self._registry.disclosure(task),
            files={} if record.let_go else await self._hashes(task, record),
        )
        return model_card(facts)

    async def file(self, task: str, number: int, name: str, seconds: float) -> VersionFile:
        """A version in the format `name`, for which so many seconds are waited.

        Raises NotFoundError, GoneError, or what Exporter.get raises.
        """
        wanted, record = format_of(name), _kept(self._history(task), number)
        source = await self._source(task, record)
        made = await self._exporter.get(source, wanted, seconds)
        return VersionFile(f"{task}-{number}{wanted.ending}", wanted, made)

    async def compare(self, task: str, before: int, after: int) -> dict[str, Any]:
        """How two versions differ (docs/reference/http.md). Raises NotFoundError or GoneError."""
        history = self._history(task)
        first, second = _kept(history, before), _kept(history, after)
        old, new = [await self._blobs.path(one.weights) for one in (first, second)]
        layout = self._registry.host(task).task.bundle.manifest.layout
        whole, variables = await asyncio.to_thread(distances, old, new, layout)
        return {
            "before": _described(history, first),
            "after": _described(history, second),
            "distance": whole.distance,
            "relative": whole.relative,
            "variables": [asdict(one) for one in variables],
        }

    async def restore(self, task: str, number: int) -> dict[str, Any]:
        """Makes an earlier version the newest again; that, as `version_summary`.

        Raises OrderError while this cannot be, NotFoundError, GoneError or StoreError.
        """
        made = await self._registry.restore(task, number, f"The owner went back to version {number}.")
        return _described(self._history(task), made)

    async def forget(self, task: str) -> None:
        """Deletes the files that were made of a task. Raises NotFoundError or StoreError."""
        for record in self._history(task).versions:
            if record.let_go is None:
                source = await self._source(task, record)
                for one in FORMATS.values():
                    if (made := self._exporter.made(source, one)) is not None:
                        await asyncio.to_thread(made.path.unlink, True)

    async def whole(self, task: str, seconds: float) -> Whole | None:
        """Everything of a task, for its owner; None while the newest version's files are being made.

        Raises NotFoundError or StoreError.
        """
        folder, history = self._registry.folder(task), self._history(task)
        number = history.current.version
        files: list[tuple[str, Path | bytes]] = []
        for name in ("safetensors", "keras"):
            try:
                file = await self.file(task, number, name, seconds)
            except (BundleError, SettingsError):
                continue  # This model, or this server, has no such file; the weights are there anyhow.
            if file.made is None:
                return None
            files.append((file.name, file.made.path))
        files.append(("MODEL_CARD.md", (await self.card(task, number)).encode()))
        figures = {name: await self.figures(task, name) for name in (VERSIONS, ROUNDS, FIGURES)}
        files += [(f"figures/{name}", one.content) for name, one in figures.items()]
        toml, readme = await asyncio.to_thread(_texts, folder)
        return Whole(toml, readme, [*files, *await asyncio.to_thread(_lying, folder)])

    def _history(self, task: str) -> VersionHistory:
        return self._registry.host(task).history

    async def _source(self, task: str, record: VersionRecord) -> ExportSource:
        bundle = self._registry.host(task).task.bundle
        file = bundle.manifest.files.get(KERAS_FILE)
        return ExportSource(
            bundle=bundle.address,
            weights=record.weights,
            layout=bundle.manifest.layout,
            values=await self._blobs.path(record.weights),
            model=await self._blobs.path(file.sha256) if file else None,
            # Not the version's number: another may have the same weights, and then it is the same file.
            about={"bundle": bundle.address, "weights": record.weights},
        )

    async def _files(self, task: str, record: VersionRecord) -> list[dict[str, Any]]:
        source = await self._source(task, record)
        made = [(one, self._exporter.made(source, one)) for one in FORMATS.values()]
        return [
            {
                "format": one.name,
                "title": one.title,
                "sha256": file.sha256 if file else None,
                "bytes": file.bytes if file else None,
            }
            for one, file in made
        ]

    async def _hashes(self, task: str, record: VersionRecord) -> dict[str, str]:
        """The hashes of the files that are there already, by format."""
        files = await self._files(task, record)
        return {file["format"]: file["sha256"] for file in files if file["sha256"] is not None}


def _texts(folder: Path) -> tuple[str, str]:
    readme = folder / README
    return (folder / TASK_FILE).read_text("utf-8"), readme.read_text("utf-8") if readme.is_file() else ""


def _lying(folder: Path) -> list[tuple[str, Path | bytes]]:
    """What lies in a task's folder beside its text: bundle and shards."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    return [
        (str(path.relative_to(folder)), path)
        for path in found
        if path not in (folder / TASK_FILE, folder / README)
    ]


def _described(history: VersionHistory, record: VersionRecord) -> dict[str, Any]:
    return version_summary(record, history.evaluations.get(record.version), lineage_of(history.versions))


def _record(history: VersionHistory, number: int) -> VersionRecord:
    found = next((one for one in history.versions if one.version == number), None)
    if found is None:
        raise NotFoundError(f"There is no version {number}; the newest is {history.current.version}.")
    return found


def _kept(history: VersionHistory, number: int) -> VersionRecord:
    record = _record(history, number)
    if record.let_go is not None:
        raise GoneError(f"Version {number} was let go to save space; the task's page shows which are kept.")
    return record
