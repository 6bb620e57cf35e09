"""Sends HTTP requests to a server as an operator does."""

from __future__ import annotations

from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server


def ask(server: Server, path: str, **headers: str) -> tuple[int, str]:
    """Returns status and text of an answer."""
    request = Request(server.url + path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()
