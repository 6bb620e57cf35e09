"""`minga task push`: a task's folder becomes a draft on a server, is made ready there, and launched."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backend.commands.server_client import DEFAULT, server_at
from backend.commands.tasks.check import add_folder
from backend.commands.tasks.draft_client import Pushed, draft_called
from backend.commands.tasks.task_folder import Folder, findings, open_folder, packed
from backend.commands.tokens import needed
from backend.errors import NotReadyError, TaskFileError

# What is proposed for data suits the model that is there; how they are scaled is part of its conversion.
_WORK = ("convert", "look", "convert", "cut", "rehearse")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """`FOLDER`, `--to`, `--model`, `--data`, `--launch`, `--test`, `--no-browser` and `--json`."""
    add_folder(parser)
    parser.add_argument(
        "--to",
        metavar="URL",
        default=os.environ.get("MINGA_SERVER") or DEFAULT,
        help=f"address of the server (MINGA_SERVER, default {DEFAULT})",
    )
    ending = parser.add_mutually_exclusive_group()
    ending.add_argument("--launch", action="store_true", help="launch it when everything is ready")
    ending.add_argument("--test", action="store_true", help="launch it for those whom you invite")
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="launch it for Python peers although no browser has taken its step",
    )
    parser.add_argument("--json", action="store_true", help="report in JSON, a line each")


def run(args: argparse.Namespace) -> int:
    """Brings, makes ready and launches; the same again goes on where it was. Raises MingaError."""
    folder = open_folder(args.folder, args.model, args.data)
    _refuse_early(folder, args.launch or args.test)
    url = server_at(args.to).url
    server, tell = server_at(args.to, needed(url)), _teller(args.json)
    pushed = draft_called(server, str(folder.tables.get("name")), tell)
    looked = pushed.record()["jobs"].get("look", {}).get("asked")
    pushed.write(folder.text, folder.readme)
    _bring(pushed, folder)
    # What an earlier look proposed was replaced by the folder's own task file, which says nothing of it.
    _make_ready(pushed, _WORK, None if "preprocess" in folder.tables.get("data", {}) else looked)
    if args.no_browser:
        _without_browser(pushed)
    left = [one["text"] for one in pushed.record()["checklist"] if one["state"] != "done"]
    page = f"{url}/drafts/{pushed.id}"
    if not (args.launch or args.test):
        tell("pushed", _how_it_stands(left, page), draft=pushed.id, address=page, left=left)
        return 0
    if left:
        raise NotReadyError(f"{' '.join(left)} Go on at {page}, then push again.")
    _launch(pushed, args.test)
    return 0


def _launch(pushed: Pushed, test: bool) -> None:
    made = pushed.server.send("POST", f"{pushed.path}/launch", {"test": test}).json
    where = f"{pushed.server.url}{made['address']}"
    how = f"is in a private test: invite people at {where}/access" if test else f"is live: {where}"
    pushed.tell("launched", f"{made['task']} {how}", task=made["task"], address=where)


def _refuse_early(folder: Folder, launching: bool) -> None:
    """Raises TaskFileError for what would be refused at the end, before anything is sent."""
    wrong = ("failed", "todo") if launching else ("failed",)
    faults = [one for one in findings(folder) if one.state in wrong]
    if faults:
        lines = (f"line {one.line}: {one.text}" if one.line else one.text for one in faults)
        raise TaskFileError(" ".join(lines))


def _bring(pushed: Pushed, folder: Folder) -> None:
    if folder.model is not None:
        pushed.bring("model", folder.model)
        _make_ready(pushed, ("convert",))
    if folder.data is not None:
        with tempfile.TemporaryDirectory(prefix="minga-push-") as name:
            pushed.bring("data", packed(folder.data, Path(name) / f"{folder.data.name}.zip"))


def _make_ready(pushed: Pushed, kinds: Sequence[str], stale: float | None = None) -> None:
    """Has what the checklist lacks of these kinds of work done, as far as their files are there.

    Data are looked at again where the last look is the one that was asked for at `stale`.
    """
    for kind in kinds:
        record = pushed.record()
        items = {one["key"]: one["state"] for one in record["checklist"]}
        again = kind == "look" and stale is not None and record["jobs"]["look"]["asked"] == stale
        # What is left is told at the end.
        needs = {"look": ("data-file",), "convert": ("model-file",)}.get(kind, ("model-file", "data-file"))
        here = all(items.get(key, "done") == "done" for key in needs)
        if kind in items and here and (again or items[kind] != "done"):
            pushed.work(kind)


def _without_browser(pushed: Pushed) -> None:
    trial = pushed.server.get(f"{pushed.path}/trial", "trial")["trial"]
    if trial is None:
        raise NotReadyError("There was no dry run yet, so that it cannot be told who can take part.")
    pushed.server.send("POST", f"{pushed.path}/tried", {"outcome": "no-browser", "of": trial["of"]})


def _how_it_stands(left: list[str], page: str) -> str:
    if not left:
        return f"Everything is ready: launch it with --launch or --test, or at {page}"
    return f"Still to do: {' '.join(left)} Go on at {page}"


def _teller(as_json: bool) -> Any:
    def tell(event: str, text: str, **facts: Any) -> None:
        if as_json:
            print(json.dumps({"event": event, "text": text, **facts}, ensure_ascii=False), flush=True)
        elif event == "upload" and sys.stdout.isatty():
            print(f"\r{text}", end="" if facts["bytes"] < facts["of"] else "\n", flush=True)
        elif event != "upload" or facts["bytes"] in (0, facts["of"]):
            print(text, flush=True)

    return tell
