"""`minga task push`: uploads a task's folder as a draft to a server, prepares it, and launches it."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backend.commands.server_client import DEFAULT, ServerClient, server_at
from backend.commands.tasks.check import add_folder
from backend.commands.tasks.draft_client import RemoteDraft, Tell, open_draft
from backend.commands.tasks.task_folder import Folder, findings, open_folder, packed
from backend.commands.terminal.progress import TerminalProgress
from backend.commands.tokens import needed
from backend.errors import NotReadyError, TaskFileError
from backend.server.drafts.starters.starters import STARTERS

# Inspecting data proposes a preprocessing for the converted model; its scaling needs another conversion.
_WORK = ("convert", "look", "build", "convert", "cut", "rehearse")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the folder, and the flags that say where it goes, what it has and how it is launched."""
    add_folder(parser)
    parser.add_argument(
        "--to",
        metavar="URL",
        default=os.environ.get("MINGA_SERVER") or DEFAULT,
        help=f"address of the server (MINGA_SERVER, default {DEFAULT})",
    )
    parser.add_argument(
        "--starter",
        metavar="NAME",
        choices=tuple(STARTERS),
        help=f"begin with a starter model instead of a file: {', '.join(STARTERS)}",
    )
    ending = parser.add_mutually_exclusive_group()
    ending.add_argument("--launch", action="store_true", help="launch it when everything is ready")
    ending.add_argument("--test", action="store_true", help="launch it only for people you invite")
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="launch it for Python peers without a dry run in a browser",
    )
    parser.add_argument("--json", action="store_true", help="report as JSON, one line per event")


def run(args: argparse.Namespace) -> int:
    """Uploads, prepares and launches the task; a repeated call resumes. Raises MingaError."""
    folder = open_folder(args.folder, args.model, args.data, args.starter)
    _refuse_early(folder, args.launch, args.test)
    url = server_at(args.to).url
    server = server_at(args.to, needed(url))
    with TerminalProgress(f"Asking {url}.", quiet=True, in_bytes=True) as progress:
        return _push(server, folder, args, _make_reporter(args.json, progress))


def _push(server: ServerClient, folder: Folder, args: argparse.Namespace, report: Tell) -> int:
    url = server.url
    draft = open_draft(server, str(folder.tables.get("name")), report)
    inspected_at = draft.record()["jobs"].get("look", {}).get("asked")
    draft.write(folder.text, folder.readme)
    _upload_files(draft, folder)
    # If the folder's task file has no preprocessing, it replaced the one that an earlier inspection proposed.
    _make_ready(draft, _WORK, None if "preprocess" in folder.tables.get("data", {}) else inspected_at)
    if args.no_browser:
        _without_browser(draft)
    remaining = [
        item["text"]
        for item in draft.record()["checklist"]
        if item["state"] != "done" and (item["for_test"] or not args.test)
    ]
    page = f"{url}/drafts/{draft.id}"
    if not (args.launch or args.test):
        report("pushed", _status(remaining, page), draft=draft.id, address=page, left=remaining)
        return 0
    if remaining:
        raise NotReadyError(f"{' '.join(remaining)} Go on at {page}, then push again.")
    _launch(draft, args.test)
    return 0


def _launch(draft: RemoteDraft, test: bool) -> None:
    made = draft.server.send("POST", f"{draft.path}/launch", {"test": test}).json
    page_url = f"{draft.server.url}{made['address']}"
    state_text = (
        f"is in a private test: invite people at {page_url}/access" if test else f"is live: {page_url}"
    )
    draft.tell("launched", f"{made['task']} {state_text}", task=made["task"], address=page_url)


def _refuse_early(folder: Folder, launching: bool, testing: bool) -> None:
    """Raises TaskFileError, before anything is sent, for faults that the server would refuse at the end."""
    wrong = ("failed", "todo") if launching or testing else ("failed",)
    faults = [item for item in findings(folder) if item.state in wrong and (item.for_test or not testing)]
    if faults:
        lines = (f"line {item.line}: {item.text}" if item.line else item.text for item in faults)
        raise TaskFileError(" ".join(lines))


def _upload_files(draft: RemoteDraft, folder: Folder) -> None:
    if folder.model is not None:
        draft.bring("model", folder.model)
        _make_ready(draft, ("convert",))
    elif folder.starter is not None:
        draft.server.send("POST", f"{draft.path}/starter", {"starter": folder.starter})
    if folder.data is not None:
        with tempfile.TemporaryDirectory(prefix="minga-push-") as name:
            draft.bring("data", packed(folder.data, Path(name) / f"{folder.data.name}.zip"))


def _make_ready(draft: RemoteDraft, kinds: Sequence[str], stale: float | None = None) -> None:
    """Runs the jobs of these kinds that the checklist still lacks and whose files are uploaded.

    Data are inspected again if their last inspection is the one requested at the time `stale`.
    """
    for kind in kinds:
        record = draft.record()
        items = {item["key"]: item["state"] for item in record["checklist"]}
        repeat = kind == "look" and stale is not None and record["jobs"]["look"]["asked"] == stale
        # Jobs whose files are missing are skipped; the report at the end lists them.
        needs = {"look": ("data-file",), "convert": ("model-file",)}.get(kind, ("model-file", "data-file"))
        has_files = all(items.get(key, "done") == "done" for key in needs)
        if kind in items and has_files and (repeat or items[kind] != "done"):
            draft.work(kind)


def _without_browser(draft: RemoteDraft) -> None:
    trial = draft.server.get(f"{draft.path}/trial", "trial")["trial"]
    if trial is None:
        raise NotReadyError("There was no dry run yet, so it is not known which devices can take part.")
    draft.server.send("POST", f"{draft.path}/tried", {"outcome": "no-browser", "of": trial["of"]})


def _status(remaining: list[str], page: str) -> str:
    if not remaining:
        return f"Everything is ready: launch it with --launch or --test, or at {page}"
    return f"Still to do: {' '.join(remaining)} Go on at {page}"


def _make_reporter(as_json: bool, progress: TerminalProgress) -> Tell:
    def report(event: str, text: str, **facts: Any) -> None:
        if as_json:
            print(json.dumps({"event": event, "text": text, **facts}, ensure_ascii=False), flush=True)
        elif event != "upload" or facts["bytes"] in (0, facts["of"]):
            print(text, flush=True)
        if event == "upload":
            progress.amount(facts["bytes"], facts["of"], text)
        else:
            progress.step(text)

    return report
