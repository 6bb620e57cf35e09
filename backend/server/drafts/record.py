"""What is remembered of a draft: one file, `draft.json`, in the draft's own folder."""

from __future__ import annotations

import os
import re
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
JobKind = Literal["convert", "look", "show", "cut", "rehearse"]
# What a draft that goes on by itself has done, in this order.
ONWARD: tuple[JobKind, ...] = ("convert", "look", "cut", "rehearse")
JobState = Literal["waiting", "running", "done", "failed", "cancelled"]
LIVE: tuple[JobState, ...] = ("waiting", "running")
BrowserBackend = Literal["webgpu", "webgl", "wasm", "cpu"]


class DraftUpload(Struct):
    """A file on its way in: `bytes` are to come, `sha256` is what its owner says of them, if anything.

    How many are here says the length of the file that takes them.
    """

    name: str
    bytes: int
    began: float
    sha256: str | None = None


class StoredFile(Struct):
    """A file that is here whole. `suffix` says its kind, `name` is its owner's."""

    name: str
    suffix: str
    bytes: int
    sha256: str
    stored: float


class JobLine(Struct):
    """What a job said, and when (Unix seconds)."""

    at: float
    text: str


class DraftJob(Struct):
    """Work on a draft. `of` is a hash of what it works on: a result counts as long as that is the same."""

    state: JobState
    of: str
    asked: float
    ended: float | None = None
    log: list[JobLine] = field(default_factory=list)
    restarts: int = 0
    result: dict[str, Any] | None = None

    @property
    def live(self) -> bool:
        """Whether it waits or runs."""
        return self.state in LIVE


class BrowserDryRun(Struct):
    """What came of the dry run in a browser: of a step with a backend, or of reading the data.

    `of` is the fingerprint of the rehearsal whose step it was, `agent` the browser in words; `none`: no
    browser tried. `loss_error` and `gradient_error` are relative (L2) to the native step.
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


class Draft(Struct):
    """A task that is being made. `task` are the tables of its task.toml, as far as they are known.

    `onward`: the server begins work by itself as soon as what it needs is there.
    """

    id: str
    owner: str
    created: float
    changed: float
    task: dict[str, Any]
    readme: str = ""
    onward: bool = False
    uploads: dict[FileKind, DraftUpload] = field(default_factory=dict)
    files: dict[FileKind, StoredFile] = field(default_factory=dict)
    jobs: dict[JobKind, DraftJob] = field(default_factory=dict)
    tried: list[BrowserDryRun] = field(default_factory=list)


def read_draft(folder: Path) -> Draft:
    """The draft in `folder`. Raises NotFoundError where there is none, StoreError where it is damaged."""
    path = folder / RECORD
    try:
        with translated(f"The draft in {folder} cannot be read"):
            return msgspec.json.decode(path.read_bytes(), type=Draft)
    except msgspec.DecodeError as error:
        raise StoreError(
            f"{path} is damaged ({error}); restore it from a backup, or delete its folder."
        ) from error


def write_draft(folder: Path, draft: Draft) -> None:
    """Writes aside and renames, so that a killed server leaves the old record or the new one."""
    aside = folder / f".{RECORD}"
    with translated(f"The draft in {folder} cannot be written"):
        with aside.open("wb") as file:
            file.write(msgspec.json.encode(draft))
            file.flush()
            os.fsync(file.fileno())
        aside.replace(folder / RECORD)


def check_id(text: str) -> str:
    """`text`, if it can be the id of a draft: it becomes the name of a folder. Raises NotFoundError."""
    if not ID.fullmatch(text):
        raise NotFoundError("There is no such draft; your list of drafts has all that there are.")
    return text
