"""An owner's program that makes drafts."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from tests.support.timeouts import PATIENCE
from tests.support.web.visitors import Visitor

# The statements that a launch requires; tests put them into their draft's task file.
ABOUT: dict[str, Any] = {
    "summary": "Cats and dogs.",
    "licence": {"model": "Apache-2.0", "data": "CC0-1.0"},
    "consent": {"basis": "licensed"},
    "ethics": {
        "people": "none",
        "misuse": "It could be trusted where it is wrong; the page says how often that is.",
        "benefit": "Whoever has pictures of pets.",
        "contact": "cats@example.org",
    },
}


# Headers of tus, an upload's protocol.
TUS = {"Tus_Resumable": "1.0.0"}
PIECE = {**TUS, "Content_Type": "application/offset+octet-stream"}


def metadata(**values: str) -> dict[str, str]:
    """Returns the header that names an upload's file."""
    entries = (f"{key} {b64encode(value.encode()).decode()}" for key, value in values.items())
    return {"Upload_Metadata": ",".join(entries)}


@dataclass(frozen=True)
class Answer:
    """An HTTP answer; the names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        """Returns the content."""
        return json.loads(self.text)


class Drafter:
    """Sends bytes unchanged, an iterator's in chunks, all else as JSON, with the token of `visitor`."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Sends one request on its own connection."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.visitor.token is not None:
            sent["Authorization"] = f"Bearer {self.visitor.token}"
        content = body if isinstance(body, bytes | Iterator | None) else json.dumps(body).encode()
        if content is not body:
            sent["Content-Type"] = "application/json"
        connection = HTTPConnection(self.visitor.host, timeout=PATIENCE)
        try:
            connection.request(method, path, content, sent)
            answer = connection.getresponse()
            given = {name.lower(): value for name, value in answer.headers.items()}
            return Answer(answer.status, given, answer.read().decode("utf-8", "replace"))
        finally:
            connection.close()

    def moved(self, url: str) -> Drafter:
        """Returns the same program for the server's new address."""
        return Drafter(Visitor(url, self.visitor.token))

    def begin(self, name: str) -> str:
        """Creates a draft; returns its address."""
        return f"/api/drafts/{self.send('POST', '/api/drafts', {'name': name}).json['id']}"

    def upload(self, draft: str, kind: str, name: str, content: bytes) -> None:
        """Uploads a whole file."""
        url = self.announce(draft, kind, name, len(content))
        length = 1 << 20
        for start in range(0, len(content), length):
            answer = self.piece(url, start, content[start : start + length])
            assert answer.status == 204, answer.text

    def announce(self, draft: str, kind: str, name: str, size: int, sha256: str | None = None) -> str:
        """Begins an upload; returns its URL."""
        said = metadata(filename=name) if sha256 is None else metadata(filename=name, sha256=sha256)
        answer = self.send("POST", f"{draft}/files/{kind}", **TUS, Upload_Length=str(size), **said)
        assert answer.status == 201, answer.text
        return answer.headers["location"]

    def piece(self, url: str, offset: int, content: bytes | Iterator[bytes]) -> Answer:
        """Sends bytes that belong at `offset`."""
        return self.send("PATCH", url, content, **PIECE, Upload_Offset=str(offset))

    def work(self, draft: str, kind: str) -> Any:
        """Runs a job to its end; returns it."""
        answer = self.send("POST", f"{draft}/jobs", {"kind": kind})
        assert answer.status == 202, answer.text
        return self.ended(draft, kind)

    def without_browser(self, draft: str) -> None:
        """Reports after the dry run that no browser takes its step: the launch is for Python peers."""
        of = self.send("GET", f"{draft}/trial").json["trial"]["of"]
        answer = self.send("POST", f"{draft}/tried", {"outcome": "no-browser", "of": of})
        assert answer.status == 200, answer.text

    def ended(self, draft: str, kind: str, before: int = 0) -> Any:
        """Waits for the job's end, following its log as a page would; returns the job."""
        while True:
            job = self.send("GET", f"{draft}/jobs/{kind}?after={before}").json
            if job["state"] not in ("waiting", "running"):
                return job
            before = len(job["log"])
