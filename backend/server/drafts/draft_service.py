"""All that owners do with drafts, put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from backend.errors import NotWantedError
from backend.server.accounts.roles import Roles
from backend.server.drafts import task_tables
from backend.server.drafts.disk_usage import HostedTasks
from backend.server.drafts.draft_store import DAY_SECONDS, Drafts
from backend.server.drafts.dry_runs.browser_dry_runs import Report, assessed, with_report
from backend.server.drafts.dry_runs.dry_run_files import dry_run_file, dry_run_files
from backend.server.drafts.jobs.job_queue import DraftJobQueue
from backend.server.drafts.launch import begin_life, launch
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import Draft, FileKind
from backend.server.drafts.review.checklist import checklist, fingerprint, holds
from backend.server.drafts.review.cost_preview import cost_preview, products_of
from backend.server.drafts.review.protection import Protection
from backend.server.drafts.review.wizard_steps import StepName, first_left, step_of, step_states, steps
from backend.server.drafts.toml import to_toml
from backend.server.drafts.transfer.from_task import take_model
from backend.server.drafts.transfer.import_zip import Bringing
from backend.server.drafts.transfer.uploads import PIECE_BYTES, DraftUploads
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.tasks.device_support import browsers, device_support, payload
from backend.server.tasks.model_inspection import Inspection
from backend.stores.task_lives import Lives

DRAFTS, TASKS = "drafts", "tasks"
# What is told of a record as it is.
_TOLD = ("id", "created", "changed", "onward", "task", "readme", "files", "uploads", "jobs")


class DraftService:
    """Owns drafts, uploads and the job queue of a server, from `start` to `stop`.

    Drafts lie in `data_dir`/drafts, launched tasks in `data_dir`/tasks. `clock` gives Unix seconds.
    """

    def __init__(
        self,
        data_dir: Path,
        limits: DraftLimits,
        registry: TaskRegistry,
        roles: Roles,
        lives: Lives,
        clock: Callable[[], float],
    ) -> None:
        self.drafts = Drafts(data_dir / DRAFTS, limits, clock)
        self.uploads = DraftUploads(self.drafts)
        self.bringing = Bringing(self.drafts)
        self.queue = DraftJobQueue(self.drafts)
        self.protection = Protection()
        self._hosted = HostedTasks(registry, roles, data_dir / TASKS)
        self._tasks, self._registry, self._roles, self._lives = data_dir / TASKS, registry, roles, lives
        self._sweeping: asyncio.Task[None] | None = None
        # Of two drafts of one name only one may become a task, and its owner alone the task's.
        self._launching = asyncio.Lock()

    async def start(self) -> None:
        """Takes up what was there before."""
        await self.drafts.start()
        await self.queue.start()
        for draft in self.drafts.all():
            if await self.uploads.keep_whole(draft):
                await self.queue.advance(draft)
        self._sweeping = asyncio.create_task(self._sweep())

    async def stop(self) -> None:
        """Ends all work; it is begun again at the next start."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        await self.queue.stop()

    async def begin(self, owner: str, name: str, title: str, onward: bool = False) -> Draft:
        """A new draft; one that goes `onward` has its work begun by itself. Raises OverQuotaError."""
        return await self.drafts.create(owner, task_tables.begin(name, title or name), "", onward)

    async def measure(self, owner: str) -> int:
        """Bytes that an owner's drafts and tasks take now; what is asked for next is held against that."""
        self.drafts.hosted[owner] = await self._hosted.bytes_of(owner)
        return self.drafts.taken(owner)

    async def append(self, draft: Draft, kind: FileKind, offset: int, parts: AsyncIterator[bytes]) -> int:
        """The next piece of a file; with the last one goes on what waits for it. As `DraftUploads.append`."""
        here = await self.uploads.append(draft, kind, offset, parts)
        if kind not in draft.uploads:
            await self.queue.advance(draft)
        return here

    async def start_with(self, draft: Draft, folder: Path) -> None:
        """Brings the model of the task in `folder`. Raises as `take_model`."""
        await take_model(self.drafts, draft, folder)
        await self.queue.advance(draft)

    async def change(
        self, draft: Draft, task: Mapping[str, Any] | None, readme: str | None, onward: bool | None = None
    ) -> None:
        """Saves what was filled in, sound or not yet. Raises TaskFileError for what nobody may say here."""
        draft.onward = draft.onward if onward is None else onward
        if task is not None:
            draft.task = task_tables.fixed(task)
        if readme is not None:
            draft.readme = readme
        await self.drafts.save(draft)
        await self.queue.advance(draft)

    async def change_toml(self, draft: Draft, content: bytes) -> None:
        """Takes a whole task file. Raises TaskFileError."""
        draft.task = task_tables.from_bytes(content)
        await self.drafts.save(draft)
        await self.queue.advance(draft)

    def toml(self, draft: Draft) -> str:
        """The task file."""
        return to_toml(draft.task)

    async def describe(self, draft: Draft) -> dict[str, Any]:
        """A draft as its owner sees it (docs/reference/drafts.md)."""
        inspection = await self.inspection(draft)
        record = msgspec.to_builtins(draft)
        for kind, upload in record["uploads"].items():
            upload["offset"] = self.uploads.offset(draft, kind)
        items = checklist(draft, self.drafts.folder(draft), inspection)
        return {
            **{key: record[key] for key in _TOLD},
            "piece_bytes": PIECE_BYTES,
            "checklist": [{**msgspec.to_builtins(item), "step": step_of(item.key)} for item in items],
            "steps": msgspec.to_builtins(steps(items)),
            "standing": step_states(items),
            "model": None if inspection is None else _model(inspection),
            "devices": None if inspection is None else _devices(inspection),
        }

    async def next_step(self, draft: Draft) -> StepName:
        """The step of the wizard that a draft is to go on with."""
        inspection = await asyncio.to_thread(self._inspection, draft)
        return first_left(checklist(draft, self.drafts.folder(draft), inspection))

    async def trial(self, draft: Draft) -> dict[str, Any]:
        """What a browser is to try, null before the server's own step, and what came of it (drafts.md)."""
        folder = self.drafts.folder(draft)
        inspection = await asyncio.to_thread(self._inspection, draft)
        ready = holds(draft, "rehearse", folder)
        now = fingerprint(draft, "rehearse")
        return {
            "trial": msgspec.to_builtins(await asyncio.to_thread(dry_run_files, draft, folder))
            if ready
            else None,
            "tried": [
                {**msgspec.to_builtins(one), "outdated": not ready or one.of != now} for one in draft.tried
            ],
            "takers": [] if inspection is None else msgspec.to_builtins(device_support(inspection)),
            "browsers": [] if inspection is None else browsers(inspection),
            "payload": None if inspection is None else payload(inspection.traffic),
        }

    async def try_out(self, draft: Draft, report: Report, agent: str) -> None:
        """Keeps what a browser tells. Raises NotReadyError, NotWantedError where it tried what was before."""
        trial = await asyncio.to_thread(dry_run_files, draft, self.drafts.folder(draft))
        if report.of != trial.of:
            raise NotWantedError(
                "The model or the data were changed meanwhile; reload the page and try again."
            )
        draft.tried = with_report(draft.tried, assessed(report, trial.loss, agent, self.drafts.clock()))
        await self.drafts.save(draft)

    def served(self, draft: Draft, sha256: str) -> Path:
        """A file of the draft for its dry run. Raises NotFoundError, NotReadyError."""
        return dry_run_file(draft, self.drafts.folder(draft), sha256)

    async def outlook(
        self,
        draft: Draft,
        task: Mapping[str, Any] | None,
        volunteers: int | None,
        brought: int | None,
        program: int | None,
    ) -> dict[str, Any]:
        """What the draft would cost with the tables of `task`, which are not saved; as
        `cost_preview.outlook`."""
        folder = self.drafts.folder(draft)
        return await asyncio.to_thread(cost_preview, draft, folder, task, volunteers, brought, program)

    async def delete(self, draft: Draft) -> None:
        """Forgets a draft, and ends what is being done with it."""
        await self.queue.cancel_all(draft)
        await self.drafts.delete(draft)

    async def launch(self, draft: Draft, test: bool) -> str:
        """Hosts what the draft has become, live or as a private test; the task's name.

        Raises as `launching.launch`, and OverQuotaError where its owner takes too much of the disk.
        """
        inspection = await self.inspection(draft)
        await self.measure(draft.owner)
        self.drafts.check_room(draft.owner, 0)
        async with self._launching:
            items = checklist(draft, self.drafts.folder(draft), inspection)
            names = {host.name for host in self._registry.hosts} | set(self._registry.problems)

            async def prepare(name: str) -> None:
                await self.queue.cancel_all(draft)
                await self._roles.begin(name, draft.owner)
                await begin_life(self._lives, name, test, self.drafts.clock())

            return await launch(
                draft, items, self.drafts, self._tasks, names.__contains__, prepare, self._registry.open_task
            )

    async def inspection(self, draft: Draft) -> Inspection | None:
        """What the model asks of devices; None as long as it is not converted."""
        return await asyncio.to_thread(self._inspection, draft)

    def _inspection(self, draft: Draft) -> Inspection | None:
        made = products_of(draft, self.drafts.folder(draft))
        return None if made is None else made.inspection()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(DAY_SECONDS)
            await self.drafts.forget_old()


def _devices(inspection: Inspection) -> dict[str, Any]:
    """Who can take part, how long a step takes and what moves over the network."""
    told = inspection.to_json()
    return {key: told[key] for key in ("parameters", "memory", "wire", "backends", "step_times")}


def _model(inspection: Inspection) -> dict[str, Any]:
    """What the converted model takes and gives, and how it steps."""
    manifest = inspection.manifest
    return {
        key: msgspec.to_builtins(getattr(manifest, key))
        for key in ("batch_size", "inputs", "labels", "outputs", "metrics", "optimizer")
    }
