"""A draft on a server, worked on from a terminal: files in pieces, and work that is followed to its end."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from backend.commands.server_client import ServerClient
from backend.errors import MingaError, NotReadyError, OrderError, UnreachableError

T = TypeVar("T")

OFFSET = "upload-offset"
LIVE = ("waiting", "running")
# A server that restarts is away for seconds; a connection for minutes.
PAUSE_SECONDS, MOST_SECONDS, MOST_TRIES = 2.0, 600.0, 30

# Told of each thing that happens: its word, a sentence, and facts for programs.
Tell = Callable[..., None]


@dataclass(frozen=True)
class Pushed:
    """The draft `id` at a server. Every step may be taken again: what is done already is found done."""

    server: ServerClient
    id: str
    tell: Tell

    @property
    def path(self) -> str:
        """Its address in the API."""
        return f"/api/drafts/{self.id}"

    def record(self) -> dict[str, Any]:
        """All that the server tells of it (docs/reference/drafts.md)."""
        return patiently(lambda: self.server.get(self.path, "checklist"), self.tell)

    def write(self, text: str, readme: str) -> None:
        """The task file and its text, instead of those before."""
        self.server.send("PUT", f"{self.path}/task.toml", text.encode(), Content_Type="application/toml")
        self.server.send("PATCH", self.path, {"readme": readme})

    def bring(self, kind: str, file: Path) -> None:
        """A whole file, from where an earlier try came to; nothing where the server has it already."""
        record, sha256 = self.record(), sha256_of(file)
        size, path = file.stat().st_size, f"{self.path}/files/{kind}"
        if record["files"].get(kind, {}).get("sha256") == sha256:
            self.tell("kept", f"{file.name} is there already.", kind=kind)
            return
        begun = record["uploads"].get(kind, {})
        if (begun.get("sha256"), begun.get("bytes")) != (sha256, size):
            begun = {"name": file.name, "bytes": size, "sha256": sha256}
            begun = self.server.send("POST", path, begun).json
        self._send(kind, file, int(begun["offset"]), record["piece_bytes"])

    def work(self, kind: str) -> dict[str, Any]:
        """Has work done, or joins what is being done; the job at its end. Raises NotReadyError."""
        if self.record()["jobs"].get(kind, {}).get("state") not in LIVE:
            try:
                self.server.send("POST", f"{self.path}/jobs", {"kind": kind})
            except OrderError:
                # The server may have begun it by itself meanwhile.
                if self.record()["jobs"].get(kind, {}).get("state") not in LIVE:
                    raise
        return self._followed(kind)

    def _followed(self, kind: str) -> dict[str, Any]:
        told = 0
        while True:
            job = patiently(
                partial(self.server.get, f"{self.path}/jobs/{kind}?after={told}", "log"), self.tell
            )
            for line in job["log"][told:]:
                self.tell("log", line["text"], kind=kind)
            told = len(job["log"])
            if job["state"] not in LIVE:
                break
        if job["state"] != "done":
            raise NotReadyError(job["log"][-1]["text"] if job["log"] else f"`{kind}` was {job['state']}.")
        return job

    def _send(self, kind: str, file: Path, offset: int, piece: int) -> None:
        path, size = f"{self.path}/files/{kind}", file.stat().st_size
        headers = {"Content_Type": "application/octet-stream"}
        tries = 0
        with file.open("rb") as content:
            while offset < size:
                self._tell_bytes(kind, file, offset, size)
                content.seek(offset)
                part = content.read(piece)
                try:
                    sent = self.server.send("PATCH", path, part, **headers, Upload_Offset=str(offset))
                except (UnreachableError, OrderError) as error:
                    # Cut off, or an answer was lost: the server knows how far it came.
                    came, tries = self._came_to(kind, file, error), tries + 1
                    if came <= offset:
                        if tries > MOST_TRIES:
                            raise
                        time.sleep(PAUSE_SECONDS)
                    offset = came
                else:
                    offset, tries = int(sent.headers[OFFSET]), 0
        self._tell_bytes(kind, file, size, size)

    def _tell_bytes(self, kind: str, file: Path, here: int, size: int) -> None:
        self.tell("upload", f"{file.name}: {100 * here // size} %", kind=kind, bytes=here, of=size)

    def _came_to(self, kind: str, file: Path, error: MingaError) -> int:
        """How many bytes are there. Raises UnreachableError, or `error` where nothing is on its way."""
        record = self.record()
        if kind in record["uploads"]:
            return int(record["uploads"][kind]["offset"])
        # The last piece arrived, and its answer was lost.
        if record["files"].get(kind, {}).get("sha256") == sha256_of(file):
            return file.stat().st_size
        raise error


def draft_called(server: ServerClient, name: str, tell: Tell) -> Pushed:
    """One's draft of that name, or else a new one."""
    for one in server.get("/api/drafts", "drafts")["drafts"]:
        if one["name"] == name:
            tell("draft", f"Goes on with the draft '{name}'.", draft=one["id"])
            return Pushed(server, one["id"], tell)
    made: Mapping[str, Any] = server.send("POST", "/api/drafts", {"name": name}).json
    tell("draft", f"Began the draft '{name}'.", draft=made["id"])
    return Pushed(server, made["id"], tell)


def patiently(ask: Callable[[], T], tell: Tell) -> T:
    """What `ask` gives, as soon as the server answers. Raises UnreachableError where it is long away."""
    given_up, told = time.monotonic() + MOST_SECONDS, False
    while True:
        try:
            return ask()
        except UnreachableError as error:
            if time.monotonic() > given_up:
                raise
            if not told:
                tell("offline", f"{error} Waiting for it.")
            told = True
            time.sleep(PAUSE_SECONDS)


def sha256_of(file: Path) -> str:
    """In hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
