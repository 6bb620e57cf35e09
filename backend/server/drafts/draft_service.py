"""Provides every operation of owners on drafts, over their store, uploads and job queue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from backend.errors import NotWantedError
from backend.formats.pins import pin_bundle
from backend.formats.task_file.reading.dotted_keys import value_at
from backend.server.accounts.roles import Roles
from backend.server.drafts import task_tables
from backend.server.drafts.disk_usage import HostedTasks
from backend.server.drafts.draft_store import DAY_SECONDS, Drafts
from backend.server.drafts.dry_runs.browser_dry_runs import Report, assessed, with_report
from backend.server.drafts.dry_runs.dry_run_files import dry_run_file, dry_run_files
from backend.server.drafts.jobs.job_queue import CountJob, DraftJobQueue
from backend.server.drafts.launch import launch, new_task_records
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.plan_proposals import apply_plan, owned_after, owned_by_file, owned_with_rule
from backend.server.drafts.record import Draft, FileKind
from backend.server.drafts.review.checklist import checklist, fingerprint, holds, missing
from backend.server.drafts.review.cost_preview import cost_preview, products_of
from backend.server.drafts.review.draft_description import draft_description, dry_run_description
from backend.server.drafts.review.protection import Protection
from backend.server.drafts.review.wizard_steps import StepName, first_incomplete_step
from backend.server.drafts.starters import choice
from backend.server.drafts.task_names import NameCheck, check_name, name_of
from backend.server.drafts.toml import to_toml
from backend.server.drafts.transfer.from_task import take_model
from backend.server.drafts.transfer.import_zip import ZipImporter
from backend.server.drafts.transfer.uploads import DraftUploads
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.tasks.model_inspection import Inspection
from backend.stores.task_lives import Lives

DRAFTS, TASKS = "drafts", "tasks"


class DraftService:
    """Owns drafts, uploads and the job queue of a server, from `start` to `stop`.

    Drafts lie in `data_dir`/drafts, launched tasks in `data_dir`/tasks. `clock` gives Unix seconds;
    `count_job` counts the jobs that end.
    """

    def __init__(
        self,
        data_dir: Path,
        limits: DraftLimits,
        registry: TaskRegistry,
        roles: Roles,
        lives: Lives,
        clock: Callable[[], float],
        count_job: CountJob = lambda _kind, _outcome: None,
    ) -> None:
        self.drafts = Drafts(data_dir / DRAFTS, limits, clock)
        self.uploads = DraftUploads(self.drafts)
        self.imports = ZipImporter(self.drafts)
        self.queue = DraftJobQueue(self.drafts, self.measure, count_job)
        self.protection = Protection()
        self._hosted = HostedTasks(registry, roles, data_dir / TASKS)
        self._tasks, self._registry, self._roles, self._lives = data_dir / TASKS, registry, roles, lives
        self._sweep_task: asyncio.Task[None] | None = None
        # Only one of two drafts of the same name may become a task, owned by that draft's owner alone.
        self._launching = asyncio.Lock()

    async def start(self) -> None:
        """Loads drafts, restarts interrupted jobs and completes uploads that arrived whole."""
        await self.drafts.start()
        await self.queue.start()
        for draft in self.drafts.all():
            if await self.uploads.keep_whole(draft):
                await self.queue.advance(draft)
        self._sweep_task = asyncio.create_task(self._sweep())

    async def stop(self) -> None:
        """Stops all jobs; they begin again at the next start."""
        if self._sweep_task is not None:
            self._sweep_task.cancel()
        await self.queue.stop()

    async def begin(self, owner: str, name: str, title: str, onward: bool = False) -> Draft:
        """Creates a draft; with `onward` its jobs start automatically.

        Raises NotWantedError if there is a task of that name, and OverQuotaError.
        """
        await self.check_new_name(owner, name)
        return await self.drafts.create(owner, task_tables.begin(name, title or name), "", onward, [])

    async def check_new_name(self, owner: str, name: str) -> None:
        """Raises NotWantedError with a suggestion if there is a task of that name."""
        tasks = await asyncio.to_thread(self._task_names)
        if name in tasks:
            check = check_name(name, tasks, self.drafts.all(), owner)
            raise NotWantedError(str(check.problem))

    async def check_name(self, owner: str, name: str, draft: Draft | None = None) -> NameCheck:
        """Checks the name of a draft, or of a new one; drafts that are older keep theirs."""
        tasks = await asyncio.to_thread(self._task_names)
        return check_name(name, tasks, self.drafts.all(), owner, draft)

    def _task_names(self) -> set[str]:
        folders = self._tasks.iterdir() if self._tasks.is_dir() else ()
        return self._registry.reserved_names() | {folder.name for folder in folders}

    async def measure(self, owner: str) -> int:
        """Measures the bytes of an owner's drafts and tasks; later quota checks use this measurement."""
        self.drafts.hosted[owner] = await self._hosted.bytes_of(owner)
        return self.drafts.used_bytes(owner)

    async def append(self, draft: Draft, kind: FileKind, offset: int, parts: AsyncIterator[bytes]) -> int:
        """Appends a piece of a file as `DraftUploads.append`; the last one starts the jobs that need it."""
        received = await self.uploads.append(draft, kind, offset, parts)
        if kind not in draft.uploads:
            await self.queue.advance(draft)
        return received

    async def complete_uploads(self, draft: Draft) -> None:
        """Keeps files that arrived whole while the disk was full, and starts the jobs that need them."""
        # The piece that brought the last byte may still be in work.
        with suppress(NotWantedError):
            if await self.uploads.keep_whole(draft):
                await self.queue.advance(draft)

    async def start_with(self, draft: Draft, folder: Path) -> None:
        """Copies the model of the task in `folder` into the draft. Raises as `take_model`."""
        await self.measure(draft.owner)
        before = draft.task
        await take_model(self.drafts, draft, folder)
        # Its settings came with it: none is of an earlier model.
        draft.derived.pop("model", None)
        if draft.owned is not None:
            # The plan of a task on volunteers' own data comes with its model.
            draft.owned = owned_after(draft.owned, before, draft.task)
        await self.queue.advance(draft)

    async def choose_starter(self, draft: Draft, name: str) -> None:
        """Begins the draft with a starter model instead of its model. Raises as `choice.choose`."""
        await choice.choose(self.drafts, draft, name)
        await self.queue.advance(draft)

    async def change(
        self, draft: Draft, task: Mapping[str, Any] | None, readme: str | None, onward: bool | None = None
    ) -> None:
        """Saves the owner's entries, complete or not. Raises TaskFileError for what drafts may not have."""
        draft.onward = draft.onward if onward is None else onward
        if task is not None:
            before, draft.task = draft.task, task_tables.fixed(task)
            draft.owned = owned_after(draft.owned, before, draft.task)
            await apply_plan(draft, self.drafts.folder(draft))
        if readme is not None:
            draft.readme = readme
        await self.drafts.save(draft)
        await self.queue.advance(draft)

    async def change_toml(self, draft: Draft, content: bytes) -> None:
        """Replaces the draft's tables by a whole task file. Raises TaskFileError."""
        tables = await asyncio.to_thread(task_tables.from_bytes, content)
        before, draft.task = draft.task, tables
        if holds(draft, "convert", self.drafts.folder(draft)):
            owned = owned_after(draft.owned, before, tables)
        else:
            owned = owned_by_file(draft.owned, tables)
        draft.owned = owned_with_rule(owned)
        declared = value_at(tables, "data.preprocess")
        draft.declared |= declared is not None and declared != value_at(before, "data.preprocess")
        await apply_plan(draft, self.drafts.folder(draft))
        await self.drafts.save(draft)
        await self.queue.advance(draft)

    def toml(self, draft: Draft) -> str:
        """Returns the task file as TOML."""
        return to_toml(draft.task)

    async def describe(self, draft: Draft) -> dict[str, Any]:
        """Describes a draft to its owner (docs/reference/drafts.md)."""
        inspection = await self.inspection(draft)
        name = await self.check_name(draft.owner, name_of(draft), draft)
        offset = partial(self.uploads.offset, draft)
        return draft_description(draft, self.drafts.folder(draft), inspection, name, offset)

    async def next_step(self, draft: Draft) -> StepName:
        """Returns the wizard's step with which the draft continues."""
        inspection = await asyncio.to_thread(self._inspection, draft)
        name = await self.check_name(draft.owner, name_of(draft), draft)
        return first_incomplete_step(checklist(draft, self.drafts.folder(draft), inspection, name.problem))

    async def browser_dry_run(self, draft: Draft) -> dict[str, Any]:
        """Describes the dry run in browsers: its files, null before the server's own step, and its results.

        See docs/reference/drafts.md.
        """
        folder = self.drafts.folder(draft)
        inspection = await asyncio.to_thread(self._inspection, draft)
        ready, current = holds(draft, "rehearse", folder), fingerprint(draft, "rehearse")
        files = await asyncio.to_thread(dry_run_files, draft, folder) if ready else None
        return dry_run_description(draft, files, current, inspection)

    async def record_dry_run(self, draft: Draft, report: Report, agent: str) -> None:
        """Records a browser's report. Raises NotReadyError, or NotWantedError if the step is outdated."""
        files = await asyncio.to_thread(dry_run_files, draft, self.drafts.folder(draft))
        if report.of != files.of:
            raise NotWantedError(
                "The model or the data were changed meanwhile; reload the page and try again."
            )
        draft.tried = with_report(draft.tried, assessed(report, files.loss, agent, self.drafts.clock()))
        await self.drafts.save(draft)

    def dry_run_file(self, draft: Draft, sha256: str) -> Path:
        """Returns a file of the draft for its dry run. Raises NotFoundError or NotReadyError."""
        return dry_run_file(draft, self.drafts.folder(draft), sha256)

    async def cost_preview(
        self,
        draft: Draft,
        task: Mapping[str, Any] | None,
        volunteers: int | None,
        brought: int | None,
        program: int | None,
    ) -> dict[str, Any]:
        """Returns the costs of the draft with the tables of `task`, which are not saved.

        See `review.cost_preview`.
        """
        folder = self.drafts.folder(draft)
        return await asyncio.to_thread(cost_preview, draft, folder, task, volunteers, brought, program)

    async def delete(self, draft: Draft) -> None:
        """Cancels the draft's jobs and deletes it."""
        await self.queue.cancel_all(draft)
        await self.drafts.delete(draft)

    async def launch(self, draft: Draft, test: bool) -> str:
        """Launches the draft as a task, live or as a private test. Returns the task's name.

        Raises as `launch.launch`, and OverQuotaError if its owner is over the disk quota.
        """
        if await apply_plan(draft, self.drafts.folder(draft)):
            await self.drafts.save(draft)
        inspection = await self.inspection(draft)
        await self.measure(draft.owner)
        self.drafts.check_room(draft.owner, 0)
        async with self._launching:
            name = await self.check_name(draft.owner, name_of(draft), draft)
            items = checklist(draft, self.drafts.folder(draft), inspection, name.problem)
            names = await asyncio.to_thread(self._task_names)
            prepare = partial(
                new_task_records, draft, test, self._roles, self._lives, self.queue, self.drafts.clock()
            )
            return await launch(
                draft,
                missing(items, test),
                self.drafts,
                self._tasks,
                names.__contains__,
                prepare,
                self._host,
            )

    async def _host(self, file: Path) -> None:
        """Pins the bundle of a launched task to what this server's pages compute by, and hosts the task."""
        program = await asyncio.to_thread(self._registry.program)
        if program is not None:
            await asyncio.to_thread(pin_bundle, file.parent / task_tables.BUNDLE, program)
        await self._registry.open_task(file)

    async def inspection(self, draft: Draft) -> Inspection | None:
        """Returns what the model requires of devices; None until it is converted."""
        return await asyncio.to_thread(self._inspection, draft)

    def _inspection(self, draft: Draft) -> Inspection | None:
        products = products_of(draft, self.drafts.folder(draft))
        return None if products is None else products.inspection()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(DAY_SECONDS)
            await self.drafts.forget_old()
