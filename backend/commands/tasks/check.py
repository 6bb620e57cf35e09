"""`minga task check`: checks a task's folder before it is pushed to a server."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import asdict
from pathlib import Path

from backend.commands.server_client import server_at
from backend.commands.tasks.task_folder import CheckedItem, Folder, findings, open_folder, packed
from backend.commands.terminal.progress import TerminalProgress
from backend.commands.tokens import needed
from backend.datasets.inspection.inspect_file import inspect_file
from backend.datasets.inspection.model_input import ModelInput, input_of
from backend.errors import BundleError, MingaError, TaskFileError
from backend.formats.manifest import Manifest, parse_manifest
from backend.formats.pins import MANIFEST
from backend.formats.shard_index import INDEX, read_index
from backend.formats.task_file import TaskFile, parse_task, read_task_file
from backend.server.drafts.toml import to_toml
from backend.server.estimates.masked_groups import group_sentence
from backend.server.estimates.mesh_checks import check_warnings, described_checks
from backend.server.estimates.traffic import traffic
from backend.server.sandbox.conversion import convert
from backend.server.sandbox.limited_process import Supervision, Tell
from backend.server.tasks.device_support import device_support
from backend.server.tasks.model_inspection import inspect
from backend.server.tasks.task import TASK_FILE
from backend.server.tasks.task_validation import check_recipe, missing_pins

UNFIT = 2
_MARKS = {"done": "+", "todo": "·", "warning": "!", "failed": "-"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds `FOLDER`, `--model`, `--data`, `--convert`, `--to` and `--json`."""
    add_folder(parser)
    parser.add_argument(
        "--convert", action="store_true", help="convert the model here, and say which devices can train it"
    )
    parser.add_argument(
        "--to", metavar="URL", help="also ask a server whether the token is valid and the name free"
    )
    parser.add_argument("--json", action="store_true", help="report in JSON")


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Adds `FOLDER`, `--model` and `--data`."""
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="folder with task.toml, README.md, model and data"
    )
    parser.add_argument(
        "--model",
        type=Path,
        metavar="FILE",
        help="default: the file that task.toml names, or the only one in FOLDER",
    )
    parser.add_argument(
        "--data", type=Path, metavar="PATH", help="a file, or a folder by classes; default: FOLDER/data*"
    )


def run(args: argparse.Namespace) -> int:
    """Prints a line per check; the exit code is 2 if a server would refuse the task. Raises TaskFileError."""
    folder = open_folder(args.folder, args.model, args.data)
    with TerminalProgress("Reading the folder.", quiet=args.json or not args.convert) as progress:
        items = list(_everything(folder, args, progress.step))
    if args.json:
        print(json.dumps({"sound": is_sound(items), "findings": [asdict(item) for item in items]}))
    else:
        for item in items:
            place = "" if item.line is None else f"{TASK_FILE}, line {item.line}: "
            print(f"{_MARKS[item.state]} {place}{item.text}")
        print(verdict(items))
    return 0 if is_sound(items) else UNFIT


def is_sound(items: list[CheckedItem]) -> bool:
    """Whether no check failed."""
    return all(item.state != "failed" for item in items)


def verdict(items: list[CheckedItem]) -> str:
    """Summarises the checks in a sentence."""
    if not is_sound(items):
        return "A server would refuse this: fix the items marked -."
    if any(item.state == "todo" for item in items):
        return "No errors. Complete the items marked · before launch."
    return "Nothing is missing: upload it with `minga task push`."


def _everything(folder: Folder, args: argparse.Namespace, tell: Tell) -> Iterator[CheckedItem]:
    items = [*findings(folder), *_groups(folder), *_checks(folder), *_built(folder)]
    yield from items
    with tempfile.TemporaryDirectory(prefix="minga-check-") as name:
        work_folder = Path(name)
        manifest: Manifest | None = None
        if args.convert and folder.model is not None and is_sound(items):
            manifest = yield from _converted(folder, folder.model, work_folder, tell)
        if folder.data is not None and not any(
            item.key == "data-file" and item.state == "failed" for item in items
        ):
            tell("Reading the data.")
            yield _inspected(folder.data, input_of(manifest) if manifest else ModelInput(), work_folder)
    if args.to is not None:
        yield from _server(folder, args.to)


def _groups(folder: Folder) -> Iterator[CheckedItem]:
    """States what the task's masked groups give and cost, if it has any."""
    try:
        sentence = group_sentence(parse_task(folder.tables, TASK_FILE))
    except TaskFileError:
        return  # Found before.
    if sentence is not None:
        yield CheckedItem("masked-groups", "done", sentence)


def _checks(folder: Folder) -> Iterator[CheckedItem]:
    """States how the members of a mesh check each other, if they do, and what this leaves to liars."""
    try:
        file = parse_task(folder.tables, TASK_FILE)
    except TaskFileError:
        return  # Found before.
    if sentence := " ".join(described_checks(file.coordination)):
        yield CheckedItem("byzantine", "done", sentence)
    for warning in check_warnings(file):
        yield CheckedItem("byzantine", "warning", warning)


def _built(folder: Folder) -> Iterator[CheckedItem]:
    """Checks the bundle and the shards that the folder has; those that a server makes are checked there."""
    try:
        file = read_task_file(folder.path / TASK_FILE)
    except TaskFileError:
        return  # Found before.
    bundle = folder.path / file.model.bundle / MANIFEST
    if not bundle.is_file():
        return
    try:
        manifest = parse_manifest(bundle.read_bytes())
        if sentence := missing_pins(file, manifest):
            yield CheckedItem("pins", "failed", sentence)
        yield from _recipe(file, manifest, folder.path / (file.data.shards or ""))
    except BundleError as error:
        yield CheckedItem("pins", "failed", str(error))


def _recipe(file: TaskFile, manifest: Manifest, shards: Path | None = None) -> Iterator[CheckedItem]:
    """Checks that the recipe of work units fits the clients' optimizer, and the shards of a folder."""
    rows: list[int] | None = None
    if shards is not None and (shards / INDEX).is_file():
        rows = [shard.examples for shard in read_index(shards).train]
    try:
        check_recipe(file, manifest, rows)
    except TaskFileError as error:
        yield CheckedItem("recipe", "failed", str(error))


def _inspected(data: Path, model_input: ModelInput, work_folder: Path) -> CheckedItem:
    try:
        pictures = work_folder / "pictures"
        pictures.mkdir()
        result = inspect_file(packed(data, work_folder / "data.zip"), model_input, pictures)
    except MingaError as error:
        return CheckedItem("data", "failed", str(error))
    classes = f" in {len(result.classes)} classes" if result.classes else ""
    notes = "".join(f" {note}" for note in result.notes)
    return CheckedItem(
        "data", "done", f"The data are {result.examples:,} examples ({result.kind}){classes}.{notes}"
    )


def _converted(
    folder: Folder, model: Path, work_folder: Path, tell: Tell
) -> Generator[CheckedItem, None, Manifest | None]:
    """Yields the checks of a conversion; returns the manifest, or None if the model is not convertible."""
    task, bundle = work_folder / TASK_FILE, work_folder / "bundle"
    task.write_text(to_toml(folder.tables), "utf-8")
    try:
        yield CheckedItem("convert", "done", convert(model, task, bundle, supervision=Supervision(tell)))
    except MingaError as error:
        yield CheckedItem("convert", "failed", str(error))
        return None
    content = (bundle / "bundle.json").read_bytes()
    manifest = parse_manifest(content)
    result = device_support(inspect(manifest, traffic(manifest, len(content), ())))
    yield from _recipe(parse_task(folder.tables, TASK_FILE), manifest)
    able = any(item.can for item in result)
    for item in result:
        yield CheckedItem("devices", "done" if able else "failed", item.text)
    return manifest


def _server(folder: Folder, address: str) -> Iterator[CheckedItem]:
    url = server_at(address).url
    server = server_at(address, needed(url))
    account = server.get("/api/account", "account")["account"]
    yield CheckedItem("token", "done", f"{url} accepts the token, which belongs to {account['name']}.")
    server.get("/api/drafts", "drafts")
    name = folder.tables.get("name")
    if any(item["name"] == name for item in server.summaries()):
        yield CheckedItem("name", "failed", f"{url} has a task '{name}' already; give this one another name.")
    else:
        yield CheckedItem("name", "done", f"{url} has no task '{name}' that this token sees.")
