"""Reads the owner's folder of a task, and checks it without a server."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from backend.errors import MingaError, RefusedFileError, TaskFileError
from backend.formats.task_file.reading.diagnostics import problems
from backend.formats.task_file.reading.toml_parser import parse_toml
from backend.server.drafts.record import Draft, FileKind, StoredFile
from backend.server.drafts.review.checklist import checklist
from backend.server.drafts.task_tables import fixed
from backend.server.drafts.transfer.file_kinds import HEAD_BYTES, check_head
from backend.server.tasks.task import TASK_FILE

README = "README.md"
MODELS = (".keras", ".h5", ".hdf5")
# Checklist items that only a server can complete.
_LATER = ("starter", "build", "convert", "look", "show", "cut", "rehearse", "browser", "devices")
# A fixed date makes the zip of the same files identical, so a server can recognise it.
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Folder:
    """The content of a task's folder. `data` is a file, a folder of files by class, or None.

    With a `starter` the server builds the model for the data.
    """

    path: Path
    text: str
    readme: str
    model: Path | None
    data: Path | None
    starter: str | None = None

    @property
    def tables(self) -> dict[str, Any]:
        """The task file's tables, as a server reads them. Raises TaskFileError."""
        try:
            return fixed(parse_toml(self.text))
        except (ValueError, RecursionError) as error:
            raise TaskFileError(f"{TASK_FILE} is not valid TOML: {error}.") from error


@dataclass(frozen=True)
class CheckedItem:
    """The result of one check: a server would refuse `failed`; `todo` must be done before a launch.

    Without `for_test`, a private test does not need it. A `warning` keeps nothing from being launched.
    """

    key: str
    state: Literal["done", "todo", "warning", "failed"]
    text: str
    line: int | None = None
    for_test: bool = True


def open_folder(path: Path, model: Path | None, data: Path | None, starter: str | None = None) -> Folder:
    """Reads the folder; `model` and `data` override its own files, and `starter` its model.

    Raises TaskFileError.
    """
    file = path / TASK_FILE
    try:
        text = file.read_text("utf-8")
        readme = (path / README).read_text("utf-8") if (path / README).is_file() else ""
    except FileNotFoundError as error:
        raise TaskFileError(f"There is no {file}; create one with `minga task new`.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise TaskFileError(f"The task in {path} cannot be read: {error}.") from error
    for one in (model, data):
        if one is not None and not one.exists():
            raise TaskFileError(f"There is no {one}.")
    if starter is None:
        model = model or _model_in(path, text)
    elif model is not None:
        raise TaskFileError("A starter model is built instead of a file: leave out --model or --starter.")
    return Folder(path, text, readme, model, data or _data_in(path), starter)


def findings(folder: Folder) -> list[CheckedItem]:
    """Runs all checks that need no server and do not open the model."""
    faults = [CheckedItem("task", "failed", one.text, one.line) for one in problems(folder.text, fixed)]
    try:
        draft = Draft("0" * 16, "", 0.0, 0.0, folder.tables, folder.readme, starter=folder.starter)
    except MingaError:
        return faults  # The faults explain the error.
    files = list(_files(folder, draft))
    items = [
        CheckedItem(
            item.key, "todo" if item.state == "running" else item.state, item.text, for_test=item.for_test
        )
        for item in checklist(draft, folder.path, None)
        if item.key not in _LATER and not (faults and item.key == "task")
    ]
    refused = {one.key for one in files}
    return faults + files + [item for item in items if item.key not in refused] + _text_of(folder)


def packed(data: Path, target: Path) -> Path:
    """Returns `data` if it is a file; otherwise zips the folder to `target` and returns that."""
    if data.is_file():
        return data
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(one for one in data.rglob("*") if one.is_file() and not one.is_symlink()):
            name = file.relative_to(data).as_posix()
            if not any(part.startswith(".") for part in name.split("/")):
                with archive.open(zipfile.ZipInfo(name, _DATE), "w", force_zip64=True) as out:
                    out.write(file.read_bytes())
    return target


def _model_in(path: Path, text: str) -> Path | None:
    try:
        named_file = parse_toml(text).get("model", {}).get("file")
    except (ValueError, AttributeError, RecursionError):
        named_file = None
    if isinstance(named_file, str) and (path / named_file).is_file():
        return path / named_file
    found = sorted(one for one in path.iterdir() if one.suffix in MODELS)
    return found[0] if len(found) == 1 else None


def _data_in(path: Path) -> Path | None:
    found = sorted(one for one in path.iterdir() if one.stem == "data" and (one.suffix or one.is_dir()))
    return found[0] if len(found) == 1 else None


def _files(folder: Folder, draft: Draft) -> Iterator[CheckedItem]:
    """Adds the acceptable files to `draft`; yields a failed check for each other file."""
    kinds: tuple[tuple[FileKind, Path | None], ...] = (("model", folder.model), ("data", folder.data))
    for kind, path in kinds:
        if path is None:
            continue
        try:
            draft.files[kind] = _stored(kind, path)
        except RefusedFileError as error:
            yield CheckedItem(f"{kind}-file", "failed", str(error))


def _stored(kind: FileKind, path: Path) -> StoredFile:
    """Returns the file's record in a draft. Raises RefusedFileError."""
    if path.is_dir():
        if kind == "model":
            raise RefusedFileError(f"{path} is a folder; zip it, and name the zip file with --model.")
        return StoredFile(f"{path.name}.zip", ".zip", 1, "", 0.0)
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    check_head(kind, path.name, head)
    return StoredFile(path.name, path.suffix.lower(), path.stat().st_size, "", 0.0)


def _text_of(folder: Folder) -> list[CheckedItem]:
    if folder.readme.strip():
        return [CheckedItem("readme", "done", "README.md describes the task.")]
    return []
