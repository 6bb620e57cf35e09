"""A running server, asked over its HTTP interface."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from backend.errors import NotFoundError, SettingsError, UnreachableError
from backend.settings import HOST, PORT

DEFAULT = f"http://{HOST}:{PORT}"
ANSWER_SECONDS = 30.0


@dataclass(frozen=True)
class Asked:
    """A server at `url`, without a slash at its end."""

    url: str

    def summaries(self) -> list[dict[str, Any]]:
        """All tasks that are served. Raises UnreachableError."""
        found: list[dict[str, Any]] = self._get("/api/tasks", "tasks")["tasks"]
        return found

    def problems(self) -> dict[str, str]:
        """Why tasks are not served. Raises UnreachableError."""
        found: dict[str, str] = self._get("/readyz", "left_out")["left_out"]
        return found

    def summary(self, task: str) -> dict[str, Any]:
        """One task. Raises NotFoundError, which names those that there are, or UnreachableError."""
        try:
            return self._get(f"/api/tasks/{quote(task, safe='')}", "phase")
        except NotFoundError as error:
            names = ", ".join(sorted(one["name"] for one in self.summaries())) or "none"
            raise NotFoundError(f"There is no task '{task}' at {self.url}. It has: {names}.") from error

    def rounds(self, task: str, after: int, last: int) -> list[dict[str, Any]]:
        """The newest `last` rounds after number `after`, oldest first (docs/reference/http.md)."""
        path = f"/api/tasks/{quote(task, safe='')}/rounds?after={after}&last={last}"
        found: list[dict[str, Any]] = self._get(path, "rounds")["rounds"]
        return found

    def _get(self, path: str, key: str) -> dict[str, Any]:
        """The JSON object at `path`, which has `key`."""
        try:
            request = Request(self.url + path, headers={"Accept": "application/json"})  # noqa: S310 - checked.
            with urlopen(request, timeout=ANSWER_SECONDS) as answer:  # noqa: S310 - `server_at` checked it.
                return self._object(answer.read(), key)
        except HTTPError as error:
            return self._refused(error, key)
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise UnreachableError(
                f"No server answers at {self.url} ({reason}). Start one with `minga serve`, or say where it "
                "is with --server URL."
            ) from error

    def _refused(self, error: HTTPError, key: str) -> dict[str, Any]:
        # A server that is not ready says so with 503, and why.
        content = self._object(error.read(), key)
        if key in content:
            return content
        message = content["error"]["message"]
        raise NotFoundError(message) if error.code == 404 else UnreachableError(f"{self.url} says: {message}")

    def _object(self, answer: bytes, key: str) -> dict[str, Any]:
        try:
            content = json.loads(answer)
        except ValueError:
            content = None
        if not isinstance(content, dict) or not ({key, "error"} & content.keys()):
            raise UnreachableError(f"{self.url} is no Minga server; check the address.")
        return content


def server_at(address: str) -> Asked:
    """The server at an address; `http://` may be left out. Raises SettingsError when it is none."""
    url = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise SettingsError(f"'{address}' is no address of a server; write it like {DEFAULT}.")
    return Asked(url.rstrip("/"))
