"""Edits a draft on a server: uploads files in pieces by tus 1.0, and follows jobs to their end."""

from __future__ import annotations

import hashlib
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from backend.commands.server_client import ServerClient
from backend.errors import MingaError, NotFoundError, NotReadyError, OrderError, UnreachableError

T = TypeVar("T")

OFFSET, TUS = "upload-offset", "1.0.0"
LIVE = ("waiting", "running")
# A restarting server is unreachable for seconds, a lost connection for minutes.
PAUSE_SECONDS, MAX_SECONDS, MAX_TRIES = 2.0, 600.0, 30

# Called for each event with its name, a sentence for people, and facts for programs.
Tell = Callable[..., None]


@dataclass(frozen=True)
class RemoteDraft:
    """The draft `id` at a server. All operations are idempotent: completed work is not repeated."""

    server: ServerClient
    id: str
    tell: Tell

    @property
    def path(self) -> str:
        """The draft's path in the API."""
        return f"/api/drafts/{self.id}"

    def record(self) -> dict[str, Any]:
        """Fetches the server's record of the draft (docs/reference/drafts.md)."""
        return retry_unreachable(lambda: self.server.get(self.path, "checklist"), self.tell)

    def write(self, text: str, readme: str) -> None:
        """Replaces the task file and its README."""
        self.server.send("PUT", f"{self.path}/task.toml", text.encode(), Content_Type="application/toml")
        self.server.send("PATCH", self.path, {"readme": readme})

    def bring(self, kind: str, file: Path) -> None:
        """Uploads a file, resuming an earlier upload; does nothing if the server has the file."""
        record, sha256 = self.record(), sha256_of(file)
        size, url = file.stat().st_size, f"{self.path}/files/{kind}"
        if record["files"].get(kind, {}).get("sha256") == sha256:
            self.tell("kept", f"{file.name} is there already.", kind=kind)
            return
        upload = record["uploads"].get(kind, {})
        if (upload.get("sha256"), upload.get("bytes")) == (sha256, size):
            url, offset = f"{url}/{upload['id']}", int(upload["offset"])
        else:
            metadata = f"filename {_base64(file.name)},sha256 {_base64(sha256)}"
            headers = {"Upload_Length": str(size), "Upload_Metadata": metadata, "Tus_Resumable": TUS}
            url, offset = self.server.send("POST", url, None, **headers).headers["location"], 0
        self._send(kind, file, url, offset, record["piece_bytes"])

    def work(self, kind: str) -> dict[str, Any]:
        """Starts a job, or joins the running one, and returns it at its end. Raises NotReadyError."""
        if self.record()["jobs"].get(kind, {}).get("state") not in LIVE:
            try:
                self.server.send("POST", f"{self.path}/jobs", {"kind": kind})
            except OrderError:
                # The server may have started the job itself in the meantime.
                if self.record()["jobs"].get(kind, {}).get("state") not in LIVE:
                    raise
        return self._follow_job(kind)

    def _follow_job(self, kind: str) -> dict[str, Any]:
        reported = 0
        while True:
            job = retry_unreachable(
                partial(self.server.get, f"{self.path}/jobs/{kind}?after={reported}", "log"), self.tell
            )
            for line in job["log"][reported:]:
                self.tell("log", line["text"], kind=kind)
            reported = len(job["log"])
            if job["state"] not in LIVE:
                break
        if job["state"] != "done":
            raise NotReadyError(job["log"][-1]["text"] if job["log"] else f"`{kind}` was {job['state']}.")
        return job

    def _send(self, kind: str, file: Path, url: str, offset: int, piece: int) -> None:
        headers = {"Content_Type": "application/offset+octet-stream", "Tus_Resumable": TUS}
        size, tries = file.stat().st_size, 0
        with file.open("rb") as content:
            while offset < size:
                self._tell_bytes(kind, file, offset, size)
                content.seek(offset)
                part = content.read(piece)
                try:
                    sent = self.server.send("PATCH", url, part, **headers, Upload_Offset=str(offset))
                except (UnreachableError, OrderError) as error:
                    # The connection broke or a response was lost; the server knows the offset.
                    server_offset, tries = self._server_offset(url, error), tries + 1
                    if server_offset <= offset:
                        if tries > MAX_TRIES:
                            raise
                        time.sleep(PAUSE_SECONDS)
                    offset = server_offset
                else:
                    offset, tries = int(sent.headers[OFFSET]), 0
        self._tell_bytes(kind, file, size, size)

    def _tell_bytes(self, kind: str, file: Path, sent_bytes: int, size: int) -> None:
        self.tell(
            "upload", f"{file.name}: {100 * sent_bytes // size} %", kind=kind, bytes=sent_bytes, of=size
        )

    def _server_offset(self, url: str, error: MingaError) -> int:
        """Returns the bytes that the server has. Raises UnreachableError, or `error` without an upload."""
        try:
            answer = retry_unreachable(lambda: self.server.send("HEAD", url, Tus_Resumable=TUS), self.tell)
        except NotFoundError:
            raise error from None
        return int(answer.headers[OFFSET])


def open_draft(server: ServerClient, name: str, tell: Tell) -> RemoteDraft:
    """Opens the user's draft of that name, or creates it."""
    for draft in server.get("/api/drafts", "drafts")["drafts"]:
        if draft["name"] == name:
            tell("draft", f"Continuing the draft '{name}'.", draft=draft["id"])
            return RemoteDraft(server, draft["id"], tell)
    created: Mapping[str, Any] = server.send("POST", "/api/drafts", {"name": name}).json
    tell("draft", f"Began the draft '{name}'.", draft=created["id"])
    return RemoteDraft(server, created["id"], tell)


def retry_unreachable(ask: Callable[[], T], tell: Tell) -> T:
    """Retries `ask` until the server answers. Raises UnreachableError after MAX_SECONDS."""
    deadline, reported = time.monotonic() + MAX_SECONDS, False
    while True:
        try:
            return ask()
        except UnreachableError as error:
            if time.monotonic() > deadline:
                raise
            if not reported:
                tell("offline", f"{error} Waiting for it.")
            reported = True
            time.sleep(PAUSE_SECONDS)


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def sha256_of(file: Path) -> str:
    """Returns a file's SHA-256 in hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
