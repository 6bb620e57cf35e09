"""Owners of tasks, who talk to a server like a browser or like a program with an API token."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server


class Visitor:
    """Sends requests as the server's own page does and keeps cookies; with `token` as a program does."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.host = urlsplit(url).netloc
        self.cookies: dict[str, str] = {}
        self.token = token

    def ask(
        self, method: str, path: str, body: object = None, status: int | None = None, **changes: str | None
    ) -> Any:
        """Returns the answer's JSON (or text); its status must be `status`, or by default a success.

        `changes` are additional headers, None for those that are left out.
        """
        headers: dict[str, str | None] = {"Accept": "application/json", "Content-Type": "application/json"}
        if self.token is None:
            headers |= {"Origin": f"http://{self.host}", "Sec-Fetch-Site": "same-origin"}
        else:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers |= {name.replace("_", "-"): value for name, value in changes.items()}
        sent = {name: value for name, value in headers.items() if value is not None}
        connection = HTTPConnection(self.host, timeout=PATIENCE)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        assert answer.status == status if status is not None else answer.status < 300, (answer.status, text)
        self.given = answer.headers.get_all("Set-Cookie") or []
        for given in self.given:
            for name, morsel in SimpleCookie(given).items():
                self.cookies[name] = morsel.value
                if morsel["max-age"] == "0":
                    del self.cookies[name]
        kind = answer.headers.get_content_type()
        return json.loads(text) if text and kind == "application/json" else text


def operator(server: Server, name: str = "ann") -> Visitor:
    """Returns the server's first operator, signed in by the link that it printed."""
    visitor = Visitor(server.url)
    code = server.report["owner_link"].partition("#")[2]
    visitor.ask("POST", "/api/sign-in/link", {"code": code, "name": name})
    return visitor


def owner(host: Visitor, name: str) -> Visitor:
    """Returns an owner whom an operator invited, signed in."""
    visitor = Visitor(f"http://{host.host}")
    code = host.ask("POST", "/api/account/links", {})["code"]
    visitor.ask("POST", "/api/sign-in/link", {"code": code, "name": name})
    return visitor


def program(of: Visitor, *scopes: str, task: str | None = None) -> Visitor:
    """Returns a program with an API token of `of`."""
    asked = {"name": "program", "scopes": scopes, "task": task}
    return Visitor(f"http://{of.host}", of.ask("POST", "/api/account/tokens", asked)["token"])
