"""Defines a draft's record, which is stored as `draft.json` in the draft's own folder."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from backend.errors import NotFoundError, StoreError
from backend.stores.error_translation import translated

RECORD = "draft.json"
ID = re.compile(r"[0-9a-f]{16}")

FileKind = Literal["model", "data"]
FILE_KINDS: tuple[FileKind, ...] = ("model", "data")
JobKind = Literal["build", "convert", "look", "show", "cut", "rehearse", "forecast"]
# Jobs that start automatically for a draft with `onward`, in this order.
ONWARD: tuple[JobKind, ...] = ("build", "convert", "look", "cut", "rehearse", "forecast")
JobState = Literal["waiting", "running", "done", "failed", "cancelled"]
LIVE: tuple[JobState, ...] = ("waiting", "running")
BrowserBackend = Literal["webgpu", "webgl", "wasm", "cpu"]


class DraftUpload(Struct):
    """An upload: `bytes` is its announced size, `sha256` the owner's hash of it, if given.

    `id` ends its URL; `metadata` is what its client said at its creation. While it is unfinished, the length
    of the file that receives it is the number of bytes received.
    """

    name: str
    bytes: int
    began: float
    sha256: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    metadata: str = ""


class StoredFile(Struct):
    """A complete file. `suffix` states its kind, `name` is the owner's name of it, `upload` brought it."""

    name: str
    suffix: str
    bytes: int
    sha256: str
    stored: float
    upload: DraftUpload | None = None


class JobLine(Struct):
    """A line of a job's log; `at` is in Unix seconds."""

    at: float
    text: str


class DraftJob(Struct):
    """A job on a draft. `of` is a hash of its inputs: its result is valid while they stay the same."""

    state: JobState
    of: str
    asked: float
    ended: float | None = None
    log: list[JobLine] = field(default_factory=list)
    restarts: int = 0
    result: dict[str, Any] | None = None

    @property
    def live(self) -> bool:
        """Whether the job waits or runs."""
        return self.state in LIVE


class BrowserDryRun(Struct):
    """The result of a dry run in a browser: of a step with a backend, or of reading the data.

    `of` is the fingerprint of the server's dry run whose step it was, `agent` names the browser; `none`
    means that no browser tried. `loss_error` and `gradient_error` are relative (L2) to the native step.
    """

    of: str
    at: float
    agent: str
    what: BrowserBackend | Literal["data", "none"]
    verdict: Literal["agrees", "differs", "failed", "absent"]
    text: str
    loss_error: float | None = None
    gradient_error: float | None = None
    step_ms: float | None = None


class Derived(Struct):
    """Settings in the task file that were derived from a file, which has the hash `sha256`.

    `values` are the proposed ones, by key; `model` is the hash of the model by which data were read, `ports`
    are the shapes of a model's inputs, labels and outputs; `note` says what became of earlier settings.
    """

    sha256: str
    values: dict[str, Any]
    model: str | None = None
    ports: list[Any] | None = None
    note: str = ""


class Draft(Struct):
    """The record of a task in preparation. `task` holds the tables of its task.toml, complete or not.

    `onward`: the server starts each job as soon as its inputs exist. `starter` names the model that is built
    for the data, where the owner uploads none. `owned`: the keys of the plan that the owner set, which
    proposals do not replace; None if the whole plan came with a task file. `declared`: the preprocessing came
    with a task file.
    """

    id: str
    owner: str
    created: float
    changed: float
    task: dict[str, Any]
    readme: str = ""
    onward: bool = False
    owned: list[str] | None = None
    declared: bool = False
    derived: dict[FileKind, Derived] = field(default_factory=dict)
    uploads: dict[FileKind, DraftUpload] = field(default_factory=dict)
    files: dict[FileKind, StoredFile] = field(default_factory=dict)
    jobs: dict[JobKind, DraftJob] = field(default_factory=dict)
    tried: list[BrowserDryRun] = field(default_factory=list)
    starter: str | None = None


def read_draft(folder: Path) -> Draft:
    """Reads the draft in `folder`. Raises NotFoundError if there is none, StoreError if it is damaged."""
    path = folder / RECORD
    try:
        with translated(f"The draft in {folder} cannot be read"):
            return msgspec.json.decode(path.read_bytes(), type=Draft)
    except msgspec.DecodeError as error:
        raise StoreError(
            f"{path} is damaged ({error}); restore it from a backup, or delete its folder."
        ) from error


def write_draft(folder: Path, draft: Draft) -> None:
    """Writes the record to a second file and renames it: a killed server leaves the old record or the new."""
    aside = folder / f".{RECORD}"
    with translated(f"The draft in {folder} cannot be written"):
        with aside.open("wb") as file:
            file.write(msgspec.json.encode(draft))
            file.flush()
            os.fsync(file.fileno())
        aside.replace(folder / RECORD)


def check_id(text: str) -> str:
    """Returns `text` if it is a valid draft id, which names a folder. Raises NotFoundError."""
    if not ID.fullmatch(text):
        raise NotFoundError("There is no such draft; your list of drafts shows all you have.")
    return text
