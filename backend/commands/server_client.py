"""A running server, asked over its HTTP interface."""

from __future__ import annotations

import json
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


@dataclass(frozen=True)
class ServerAnswer:
    """What came back; the names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """The content. Raises ValueError."""
        return json.loads(self.content)


@dataclass(frozen=True)
class ServerClient:
    """A server at `url`, without a slash at its end; an API token speaks for somebody."""

    url: str
    token: str | None = field(default=None, repr=False)

    def summaries(self) -> list[dict[str, Any]]:
        """All tasks that are served. Raises UnreachableError."""
        found: list[dict[str, Any]] = self.get("/api/tasks", "tasks")["tasks"]
        return found

    def problems(self) -> dict[str, str]:
        """Why tasks are not served. Raises UnreachableError."""
        found: dict[str, str] = self.get("/readyz", "left_out")["left_out"]
        return found

    def summary(self, task: str) -> dict[str, Any]:
        """One task. Raises NotFoundError, which names those that there are, or UnreachableError."""
        try:
            return self.get(f"/api/tasks/{quote(task, safe='')}", "phase")
        except NotFoundError as error:
            names = ", ".join(sorted(one["name"] for one in self.summaries())) or "none"
            raise NotFoundError(f"There is no task '{task}' at {self.url}. It has: {names}.") from error

    def rounds(self, task: str, after: int, last: int) -> list[dict[str, Any]]:
        """The newest `last` rounds after number `after`, oldest first (docs/reference/http.md)."""
        path = f"/api/tasks/{quote(task, safe='')}/rounds?after={after}&last={last}"
        found: list[dict[str, Any]] = self.get(path, "rounds")["rounds"]
        return found

    def file(self, path: str) -> HTTPResponse:
        """What is at `path`, to be read and closed. Raises NotFoundError or UnreachableError."""
        try:
            return self._open(path)
        except HTTPError as error:
            raise self._refusal(error.code, self._object(error.read(), "error")) from error
        except (OSError, HTTPException, ValueError) as error:
            raise self._silent(error) from error

    def get(self, path: str, key: str) -> dict[str, Any]:
        """The JSON object at `path`, which has `key`. Raises MingaError."""
        return self._ask(path, None, key)

    def post(self, path: str, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        """What is answered to `body`: a JSON object that has `key`. Raises MingaError."""
        return self._ask(path, body, key)

    def send(
        self, method: str, path: str, body: bytes | Mapping[str, Any] | None = None, **headers: str
    ) -> ServerAnswer:
        """Any request: bytes as they are, tables as JSON. Raises MingaError where it is refused."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with self._open(path, body, method, given) as answer:
                return ServerAnswer(
                    answer.status,
                    {name.lower(): value for name, value in answer.headers.items()},
                    answer.read(),
                )
        except HTTPError as error:
            # Nothing but headers answers HEAD.
            content = {} if method == "HEAD" else self._object(error.read(), "error")
            raise self._refusal(error.code, content) from error
        except (OSError, HTTPException, ValueError) as error:
            raise self._silent(error) from error

    def _ask(self, path: str, body: Mapping[str, Any] | None, key: str) -> dict[str, Any]:
        try:
            with self._open(path, body) as answer:
                return self._object(answer.read(), key)
        except HTTPError as error:
            return self._refused(error, key)
        except (OSError, HTTPException, ValueError) as error:
            raise self._silent(error) from error

    def _open(
        self,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        method: str | None = None,
        more: Mapping[str, str] | None = None,
    ) -> HTTPResponse:
        headers = {"Accept": "application/json", "Content-Type": "application/json", **(more or {})}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        request = Request(self.url + path, data, headers, method=method)  # noqa: S310 - `server_at` checked it.
        answer: HTTPResponse = urlopen(request, timeout=ANSWER_SECONDS)  # noqa: S310 - `server_at` checked it.
        return answer

    def _silent(self, error: Exception) -> UnreachableError:
        reason = getattr(error, "reason", None) or error
        return UnreachableError(
            f"No server answers at {self.url} ({reason}). Start one with `minga serve`, or say where it "
            "is with --server URL."
        )

    def _refused(self, error: HTTPError, key: str) -> dict[str, Any]:
        # A server that is not ready says so with 503, and why.
        content = self._object(error.read(), key)
        if key in content:
            return content
        raise self._refusal(error.code, content)

    def _refusal(self, status: int, content: dict[str, Any]) -> MingaError:
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
    """The server at an address; `http://` may be left out. Raises SettingsError when it is none.

    A token goes through the network over https only: whoever can read it can use it.
    """
    url = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise SettingsError(f"'{address}' is no address of a server; write it like {DEFAULT}.")
    if token is not None and not keeps_secrets(url):
        raise SettingsError(f"A token is not sent to {url}, where others could read it: use https.")
    return ServerClient(url.rstrip("/"), token)


def keeps_secrets(url: str) -> bool:
    """Whether nobody on the way to this address can read what is sent."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in LOCAL
