"""`minga task download`: downloads a version of a task and its model card, and checks its hash."""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.parse import quote

from backend.commands.server_client import ServerClient
from backend.commands.terminal.progress import TerminalProgress
from backend.errors import SettingsError, UnreachableError
from backend.server.exports.export_formats import FORMATS, format_of
from backend.server.tasks.formatting import size

_BLOCK = 1 << 20
MAX_WAIT_SECONDS = 900.0
ACCEPTED = 202


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds `NAME`, `--version`, `--format` and `--output`."""
    parser.add_argument("name", metavar="NAME", help="the task")
    parser.add_argument("--version", type=int, metavar="N", help="the version; default: the best")
    parser.add_argument("--format", default="keras", help=f"{', '.join(FORMATS)}; default: keras")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: by task and version")


def act(server: ServerClient, args: argparse.Namespace) -> None:
    """Downloads both files, or neither on failure. Raises MingaError."""
    export_format = format_of(args.format)
    version = _default_version(server, args.name) if args.version is None else args.version
    target: Path = args.output or Path(f"{args.name}-{version}{export_format.ending}")
    card = target.with_name(f"{args.name}-{version}.md")
    if target.exists():
        raise SettingsError(f"{target} is there already; choose another name with --output.")
    with tempfile.TemporaryDirectory(prefix=".minga-", dir=target.parent) as folder:
        file, text = Path(folder) / "file", Path(folder) / "card"
        url_path = f"/api/tasks/{quote(args.name, safe='')}/versions/{version}"
        with (
            TerminalProgress(f"Asking {server.url}.", quiet=args.json, in_bytes=True) as progress,
            _wait_for_file(server, f"{url_path}/{export_format.name}", progress) as answer,
            file.open("wb") as out,
        ):
            sha256 = _copy_checked(answer, out, server.url, progress)
        with server.file(f"{url_path}/card") as answer:
            text.write_bytes(answer.read())
        count = file.stat().st_size
        file.replace(target)
        text.replace(card)
    if args.json:
        report = {"file": str(target), "card": str(card), "version": version, "format": export_format.name}
        print(json.dumps({**report, "sha256": sha256, "bytes": count}))
    else:
        print(f"{target}: version {version} as {export_format.title}, {size(count)}, SHA-256 {sha256}")
        print(f"{card}: its model card")


def _default_version(server: ServerClient, name: str) -> int:
    """Returns the best version or, where none was measured on held-out examples, the one that is offered."""
    summary = server.summary(name)
    version: int = summary["best"]["version"] if summary.get("best") else summary["offered"]
    return version


def _wait_for_file(server: ServerClient, path: str, progress: TerminalProgress) -> HTTPResponse:
    """Waits until the server has made the file at `path`, and opens it. Raises MingaError."""
    deadline, announced = time.monotonic() + MAX_WAIT_SECONDS, False
    while (answer := server.file(path)).status == ACCEPTED:
        answer.close()
        if time.monotonic() > deadline:
            raise UnreachableError(f"{server.url} did not make the file in {MAX_WAIT_SECONDS:.0f} seconds.")
        if not announced:
            progress.step("The server makes the file.")
        announced = True
        time.sleep(float(answer.headers.get("Retry-After", 1)))
    return answer


def _copy_checked(answer: HTTPResponse, out: IO[bytes], url: str, progress: TerminalProgress) -> str:
    """Copies the content and returns its SHA-256; raises UnreachableError if the ETag differs from it."""
    digest, length = hashlib.sha256(), int(answer.headers.get("Content-Length") or 0)
    while block := _read(answer, url):
        digest.update(block)
        out.write(block)
        progress.amount(out.tell(), length or None, "Downloading.")
    if answer.headers.get("ETag") != f'"{digest.hexdigest()}"':
        raise _damaged(url)
    return digest.hexdigest()


def _read(answer: HTTPResponse, url: str) -> bytes:
    try:
        return answer.read(_BLOCK)
    except (OSError, HTTPException) as error:
        raise _damaged(url) from error


def _damaged(url: str) -> UnreachableError:
    return UnreachableError(f"The file from {url} arrived damaged or incomplete; try again.")
