"""`minga task check`: everything about a task's folder that can be told early."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import asdict
from pathlib import Path

from backend.commands.server_client import server_at
from backend.commands.tasks.task_folder import CheckedItem, Folder, findings, open_folder, packed
from backend.commands.tokens import needed
from backend.datasets.inspection.inspect_file import inspect_file
from backend.datasets.inspection.model_input import ModelInput, input_of
from backend.errors import MingaError
from backend.formats.manifest import Manifest, parse_manifest
from backend.server.drafts.toml import to_toml
from backend.server.estimates.traffic import traffic
from backend.server.sandbox.conversion import convert
from backend.server.tasks.device_support import device_support
from backend.server.tasks.model_inspection import inspect
from backend.server.tasks.task import TASK_FILE

UNFIT = 2
_MARKS = {"done": "+", "todo": "·", "failed": "-"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """`FOLDER`, `--model`, `--data`, `--convert`, `--to` and `--json`."""
    add_folder(parser)
    parser.add_argument(
        "--convert", action="store_true", help="convert the model here, and say which devices can train it"
    )
    parser.add_argument("--to", metavar="URL", help="ask a server, too: does the token do, is the name free?")
    parser.add_argument("--json", action="store_true", help="report in JSON")


def add_folder(parser: argparse.ArgumentParser) -> None:
    """`FOLDER`, `--model` and `--data`."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="has task.toml, README.md, model, data")
    parser.add_argument(
        "--model", type=Path, metavar="FILE", help="default: what task.toml names, or the only one in FOLDER"
    )
    parser.add_argument(
        "--data", type=Path, metavar="PATH", help="a file, or a folder by classes; default: FOLDER/data*"
    )


def run(args: argparse.Namespace) -> int:
    """Prints a line for each thing; 2 where something would be refused. Raises TaskFileError."""
    folder = open_folder(args.folder, args.model, args.data)
    told = list(_everything(folder, args))
    if args.json:
        print(json.dumps({"sound": is_sound(told), "findings": [asdict(one) for one in told]}))
    else:
        for one in told:
            place = "" if one.line is None else f"{TASK_FILE}, line {one.line}: "
            print(f"{_MARKS[one.state]} {place}{one.text}")
        print(verdict(told))
    return 0 if is_sound(told) else UNFIT


def is_sound(told: list[CheckedItem]) -> bool:
    """Whether nothing would be refused."""
    return all(one.state != "failed" for one in told)


def verdict(told: list[CheckedItem]) -> str:
    """In a sentence."""
    if not is_sound(told):
        return "A server would refuse this: mend what is marked with -."
    if any(one.state == "todo" for one in told):
        return "Sound as far as it goes; a launch needs what is marked with ·, too."
    return "Nothing is missing: `minga task push` brings it to a server."


def _everything(folder: Folder, args: argparse.Namespace) -> Iterator[CheckedItem]:
    told = findings(folder)
    yield from told
    with tempfile.TemporaryDirectory(prefix="minga-check-") as name:
        here = Path(name)
        manifest: Manifest | None = None
        if args.convert and folder.model is not None and is_sound(told):
            manifest = yield from _converted(folder, folder.model, here)
        if folder.data is not None and not any(
            one.key == "data-file" and one.state == "failed" for one in told
        ):
            yield _looked(folder.data, input_of(manifest) if manifest else ModelInput(), here)
    if args.to is not None:
        yield from _server(folder, args.to)


def _looked(data: Path, wanted: ModelInput, here: Path) -> CheckedItem:
    try:
        pictures = here / "pictures"
        pictures.mkdir()
        found = inspect_file(packed(data, here / "data.zip"), wanted, pictures)
    except MingaError as error:
        return CheckedItem("data", "failed", str(error))
    classes = f" in {len(found.classes)} classes" if found.classes else ""
    notes = "".join(f" {note}" for note in found.notes)
    return CheckedItem(
        "data", "done", f"The data are {found.examples:,} examples ({found.kind}){classes}.{notes}"
    )


def _converted(folder: Folder, model: Path, here: Path) -> Generator[CheckedItem, None, Manifest | None]:
    """Tells of a conversion; what was made of the model, if it can be converted."""
    task, bundle = here / TASK_FILE, here / "bundle"
    task.write_text(to_toml(folder.tables), "utf-8")
    try:
        yield CheckedItem("convert", "done", convert(model, task, bundle))
    except MingaError as error:
        yield CheckedItem("convert", "failed", str(error))
        return None
    content = (bundle / "bundle.json").read_bytes()
    manifest = parse_manifest(content)
    found = device_support(inspect(manifest, traffic(manifest, len(content), ())))
    able = any(one.can for one in found)
    for one in found:
        yield CheckedItem("devices", "done" if able else "failed", one.text)
    return manifest


def _server(folder: Folder, address: str) -> Iterator[CheckedItem]:
    url = server_at(address).url
    server = server_at(address, needed(url))
    who = server.get("/api/account", "account")["account"]
    yield CheckedItem("token", "done", f"{url} takes the token as {who['name']}'s.")
    server.get("/api/drafts", "drafts")
    name = folder.tables.get("name")
    if any(one["name"] == name for one in server.summaries()):
        yield CheckedItem("name", "failed", f"{url} has a task '{name}' already; give this one another name.")
    else:
        yield CheckedItem("name", "done", f"{url} has no task '{name}' that this token sees.")
