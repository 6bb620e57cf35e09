"""A client of a running server's HTTP interface."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from backend.errors import (
    BadRequestError,
    ForbiddenError,
    GoneError,
    MingaError,
    NotFoundError,
    OrderError,
    OverQuotaError,
    RefusedFileError,
    SettingsError,
    SignInError,
    TooFastError,
    UnreachableError,
)
from backend.settings import HOST, PORT

DEFAULT = f"http://{HOST}:{PORT}"
ANSWER_SECONDS = 30.0
LOCAL = ("localhost", "127.0.0.1", "::1")


_KINDS: dict[int, type[MingaError]] = {
    400: BadRequestError,
    401: SignInError,
    403: ForbiddenError,
    404: NotFoundError,
    409: OrderError,
    410: GoneError,
    413: OverQuotaError,
    422: RefusedFileError,
    429: TooFastError,
}


def add_server_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option that names the server."""
    parser.add_argument(
        "--server",
        metavar="URL",
        default=os.environ.get("MINGA_SERVER") or DEFAULT,
        help=f"address of the server (MINGA_SERVER, default {DEFAULT})",
    )


@dataclass(frozen=True)
class ServerAnswer:
    """A response; the names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """The decoded content. Raises ValueError."""
        return json.loads(self.content)


@dataclass(frozen=True)
class ServerClient:
    """Sends requests to the server at `url`, which has no trailing slash; `token` authenticates them."""

    url: str
    token: str | None = field(default=None, repr=False)

    def summaries(self) -> list[dict[str, Any]]:
        """Lists all served tasks. Raises UnreachableError."""
        found: list[dict[str, Any]] = self.get("/api/tasks", "tasks")["tasks"]
        return found

    def problems(self) -> dict[str, str]:
        """Returns the reason for each task that is not served. Raises UnreachableError."""
        found: dict[str, str] = self.get("/readyz", "left_out")["left_out"]
        return found

    def summary(self, task: str) -> dict[str, Any]:
        """Returns one task. Raises NotFoundError, which lists the existing tasks, or UnreachableError."""
        try:
            return self.get(f"/api/tasks/{quote(task, safe='')}", "phase")
        except NotFoundError as error:
            names = ", ".join(sorted(summary["name"] for summary in self.summaries())) or "none"
            raise NotFoundError(f"There is no task '{task}' at {self.url}. It has: {names}.") from error

    def rounds(self, task: str, after: int, last: int) -> list[dict[str, Any]]:
        """Returns the newest `last` rounds after number `after`, oldest first (docs/reference/http.md)."""
        path = f"/api/tasks/{quote(task, safe='')}/rounds?after={after}&last={last}"
        found: list[dict[str, Any]] = self.get(path, "rounds")["rounds"]
        return found

    def file(self, path: str) -> HTTPResponse:
        """Opens the resource at `path`; the caller closes it. Raises NotFoundError or UnreachableError."""
        try:
            return self._open(path)
        except HTTPError as error:
            raise self._error(error.code, self._object(error.read(), "error")) from error
        except (OSError, HTTPException, ValueError) as error:
            raise self._unreachable(error) from error

    def get(self, path: str, key: str) -> dict[str, Any]:
        """Returns the JSON object at `path`, which must have `key`. Raises MingaError."""
        return self._ask(path, None, key)

    def post(self, path: str, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Posts `body`; returns the response, a JSON object that must have `key`. Raises MingaError."""
        return self._ask(path, body, key)

    def send(
        self, method: str, path: str, body: bytes | Mapping[str, Any] | None = None, **headers: str
    ) -> ServerAnswer:
        """Sends any request, with bytes as they are or tables as JSON. Raises MingaError if refused."""
        request_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with self._open(path, body, method, request_headers) as answer:
                return ServerAnswer(
                    answer.status,
                    {name.lower(): value for name, value in answer.headers.items()},
                    answer.read(),
                )
        except HTTPError as error:
            # The response to HEAD has headers only.
            content = {} if method == "HEAD" else self._object(error.read(), "error")
            raise self._error(error.code, content) from error
        except (OSError, HTTPException, ValueError) as error:
            raise self._unreachable(error) from error

    def _ask(self, path: str, body: Mapping[str, Any] | None, key: str) -> dict[str, Any]:
        try:
            with self._open(path, body) as answer:
                return self._object(answer.read(), key)
        except HTTPError as error:
            return self._error_content(error, key)
        except (OSError, HTTPException, ValueError) as error:
            raise self._unreachable(error) from error

    def _open(
        self,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        method: str | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> HTTPResponse:
        headers = {"Accept": "application/json", "Content-Type": "application/json", **(extra_headers or {})}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        request = Request(self.url + path, data, headers, method=method)  # noqa: S310 - `server_at` checked it.
        answer: HTTPResponse = urlopen(request, timeout=ANSWER_SECONDS)  # noqa: S310 - `server_at` checked it.
        return answer

    def _unreachable(self, error: Exception) -> UnreachableError:
        reason = getattr(error, "reason", None) or error
        return UnreachableError(
            f"No server answers at {self.url} ({reason}). Start one with `minga serve`, or give its address "
            "with --server URL."
        )

    def _error_content(self, error: HTTPError, key: str) -> dict[str, Any]:
        # A server that is not ready answers 503 with the reason in a normal body.
        content = self._object(error.read(), key)
        if key in content:
            return content
        raise self._error(error.code, content)

    def _error(self, status: int, content: dict[str, Any]) -> MingaError:
        message = content["error"]["message"] if content else f"It answers {status}."
        return _KINDS.get(status, UnreachableError)(
            message if status in _KINDS else f"{self.url} says: {message}"
        )

    def _object(self, answer: bytes, key: str) -> dict[str, Any]:
        try:
            content = json.loads(answer)
        except ValueError:
            content = None
        if not isinstance(content, dict) or not ({key, "error"} & content.keys()):
            raise UnreachableError(f"{self.url} is no Minga server; check the address.")
        return content


def server_at(address: str, token: str | None = None) -> ServerClient:
    """Returns a client for the server at an address; `http://` may be omitted. Raises SettingsError.

    A token is sent over the network by https only, because anyone who can read it can use it.
    """
    url = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise SettingsError(f"'{address}' is not a server address; write it like {DEFAULT}.")
    if token is not None and not keeps_secrets(url):
        raise SettingsError(f"A token is not sent to {url}, where others could read it: use https.")
    return ServerClient(url.rstrip("/"), token)


def keeps_secrets(url: str) -> bool:
    """Whether requests to this address are encrypted or stay on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in LOCAL
