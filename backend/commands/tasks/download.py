"""`minga task download`: a version of a task in a file, checked, with its model card beside it."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.parse import quote

from backend.commands.server_client import ServerClient
from backend.errors import SettingsError, UnreachableError
from backend.server.exports.export_formats import FORMATS, format_of
from backend.server.tasks.formatting import size

_BLOCK = 1 << 20
MANY_SECONDS = 900.0
ACCEPTED = 202


def add_flags(parser: argparse.ArgumentParser) -> None:
    """`NAME`, `--version`, `--format` and `--output`."""
    parser.add_argument("name", metavar="NAME", help="the task")
    parser.add_argument("--version", type=int, metavar="N", help="the version; default: the newest")
    parser.add_argument("--format", default="keras", help=f"{', '.join(FORMATS)}; default: keras")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: by task and version")


def act(server: ServerClient, args: argparse.Namespace) -> None:
    """Downloads both files, or none. Raises MingaError."""
    wanted = format_of(args.format)
    version = server.summary(args.name)["version"] if args.version is None else args.version
    target: Path = args.output or Path(f"{args.name}-{version}{wanted.ending}")
    card = target.with_name(f"{args.name}-{version}.md")
    if target.exists():
        raise SettingsError(f"{target} is there already; choose another name with --output.")
    with tempfile.TemporaryDirectory(prefix=".minga-", dir=target.parent) as folder:
        file, text = Path(folder) / "file", Path(folder) / "card"
        place = f"/api/tasks/{quote(args.name, safe='')}/versions/{version}"
        with _patiently(server, f"{place}/{wanted.name}", args.json) as answer, file.open("wb") as out:
            sha256 = _copied(answer, out, server.url)
        with server.file(f"{place}/card") as answer:
            text.write_bytes(answer.read())
        count = file.stat().st_size
        file.replace(target)
        text.replace(card)
    if args.json:
        told = {"file": str(target), "card": str(card), "version": version, "format": wanted.name}
        print(json.dumps({**told, "sha256": sha256, "bytes": count}))
    else:
        print(f"{target}: version {version} as {wanted.title}, {size(count)}, SHA-256 {sha256}")
        print(f"{card}: its model card")


def _patiently(server: ServerClient, path: str, quiet: bool) -> HTTPResponse:
    """The file at `path`, as soon as it was made. Raises MingaError."""
    given_up, told = time.monotonic() + MANY_SECONDS, quiet
    while (answer := server.file(path)).status == ACCEPTED:
        answer.close()
        if time.monotonic() > given_up:
            raise UnreachableError(f"{server.url} did not make the file in {MANY_SECONDS:.0f} seconds.")
        if not told:
            print("The server makes the file.", file=sys.stderr)
        told = True
        time.sleep(float(answer.headers.get("Retry-After", 1)))
    return answer


def _copied(answer: HTTPResponse, out: IO[bytes], url: str) -> str:
    """Writes what comes; its SHA-256, which is the one that the server told. Raises UnreachableError."""
    digest = hashlib.sha256()
    while block := _read(answer, url):
        digest.update(block)
        out.write(block)
    if answer.headers.get("ETag") != f'"{digest.hexdigest()}"':
        raise _torn(url)
    return digest.hexdigest()


def _read(answer: HTTPResponse, url: str) -> bytes:
    try:
        return answer.read(_BLOCK)
    except (OSError, HTTPException) as error:
        raise _torn(url) from error


def _torn(url: str) -> UnreachableError:
    return UnreachableError(f"The file from {url} came damaged or cut short; try again.")
