"""Alerts leave by a real webhook and a real mail server, to where the operator allows, and not too often."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from backend.errors import TaskFileError
from backend.formats.task_file import TaskFile, read_task_file
from backend.formats.task_file.alerts import AlertRules
from backend.server.alerting import messenger as alert_messenger
from backend.server.alerting.mail import OutgoingMail
from backend.server.alerting.messenger import BURST, AlertDestinations, Messenger
from backend.server.alerting.webhook import check_webhook, origin_of
from tests.support.environment.http_thread import serving
from tests.support.tasks.tiny_task import write_task

TEXT = "For 30 minutes too few participants were here."


class Hook(BaseHTTPRequestHandler):
    """Notes what is posted, and answers what its server is to answer."""

    server: Noting

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.heard.append((self.path, json.loads(self.rfile.read(length))))
        status = self.server.answers.pop(0) if self.server.answers else 204
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/secret")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class Noting(HTTPServer):
    """A server for webhooks; `answers` are the statuses to come, then success."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Hook)
        self.heard: list[tuple[str, Any]] = []
        self.answers: list[int] = []

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def hook() -> Iterator[Noting]:
    server = Noting()
    with serving(server):
        yield server


class Post:
    """A mail server's handler: keeps what it takes."""

    def __init__(self) -> None:
        self.taken: list[Envelope] = []

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's.
        self.taken.append(envelope)
        return "250 OK"


@pytest.fixture
def file(tmp_path: Path) -> TaskFile:
    return read_task_file(write_task(tmp_path / "tiny") / "task.toml")


def with_alerts(file: TaskFile, text: str) -> TaskFile:
    """The task file with more in its table of alerts."""
    return msgspec.structs.replace(file, alerts=msgspec.toml.decode(text, type=AlertRules))


async def test_a_webhook_gets_the_alert_as_json(hook: Noting, file: TaskFile) -> None:
    told = with_alerts(file, f'webhook = "{hook.origin}/minga?room=7"')
    messenger = Messenger(told, AlertDestinations(frozenset({hook.origin})), clock=lambda: 12.5)
    messenger.send("too-few", TEXT)
    await messenger.deliver()
    content = {"task": "tiny", "title": "Tiny", "trouble": "too-few", "text": TEXT, "at": 12.5}
    assert hook.heard == [("/minga?room=7", content)]


async def test_a_webhook_that_fails_is_tried_again_and_redirects_are_not_followed(
    hook: Noting, file: TaskFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_messenger, "RETRY_PAUSES", (0.0, 0.0))
    told = with_alerts(file, f'webhook = "{hook.origin}/x"')
    messenger = Messenger(told, AlertDestinations(frozenset({hook.origin})))
    hook.answers = [302, 500, 204]
    messenger.send("too-few", TEXT)
    await messenger.deliver()
    assert [path for path, _ in hook.heard] == ["/x", "/x", "/x"]
    assert messenger.trouble is None


async def test_what_cannot_be_sent_is_told(
    file: TaskFile, hook: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_messenger, "RETRY_PAUSES", ())
    told = with_alerts(file, f'webhook = "{hook.origin}/x"')
    messenger = Messenger(told, AlertDestinations(frozenset({hook.origin})))
    hook.answers = [500]
    messenger.send("too-few", TEXT)
    await messenger.deliver()
    assert messenger.trouble == "An alert could not be sent by webhook: 127.0.0.1 answered 500"


async def test_owners_get_an_e_mail(file: TaskFile) -> None:
    post = Post()
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(post), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        box = OutgoingMail("127.0.0.1", port, "minga@example.org", security="none")
        told = with_alerts(file, 'email = ["ann@example.org", "bob@example.org"]')
        messenger = Messenger(told, AlertDestinations(mailbox=box))
        messenger.send("too-few", TEXT)
        await messenger.deliver()
    assert messenger.trouble is None
    (envelope,) = post.taken
    assert envelope.rcpt_tos == ["ann@example.org", "bob@example.org"]
    assert isinstance(envelope.content, bytes)
    message = message_from_bytes(envelope.content)
    assert (message["Subject"], message["From"]) == ("Minga: Tiny", "minga@example.org")
    assert str(message.get_payload()).strip() == TEXT


async def test_a_storm_of_alerts_is_cut_down(hook: Noting, file: TaskFile) -> None:
    told = with_alerts(file, f'webhook = "{hook.origin}/x"')
    messenger = Messenger(told, AlertDestinations(frozenset({hook.origin})), clock=lambda: 0.0)
    for number in range(3 * BURST):
        messenger.send("store", str(number))
    await messenger.deliver()
    assert [content["text"] for _, content in hook.heard] == [str(number) for number in range(BURST)]


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.org/x",
        "https://hooks.example.org:444/x",
        "https://hooks.example.org.evil.example/x",
        "https://hooks.example.org@evil.example/x",
        "https://evil.example/https://hooks.example.org",
        "http://127.0.0.1:8000/metrics",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/x",
        "https://[hooks",
    ],
)
def test_only_what_the_operator_allows_is_called(url: str) -> None:
    allowed = {origin_of("https://hooks.example.org")}
    check_webhook("tiny", "https://hooks.example.org/a/b?c=d", allowed)
    check_webhook("tiny", "https://HOOKS.example.org:443/", allowed)
    with pytest.raises(TaskFileError, match=r"tiny: alerts\.webhook"):
        check_webhook("tiny", url, allowed)


def test_e_mail_needs_a_mail_server(file: TaskFile) -> None:
    with pytest.raises(TaskFileError, match="Ask its operator to set MINGA_SMTP_HOST"):
        Messenger(with_alerts(file, 'email = ["ann@example.org"]'))
