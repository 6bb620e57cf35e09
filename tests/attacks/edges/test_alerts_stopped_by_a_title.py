"""A task's title with a line break ends the delivery of its alerts, or adds headers to the e-mail."""

from __future__ import annotations

import asyncio
from email import message_from_bytes
from pathlib import Path

import msgspec
import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from backend.formats.task_file import read_task_file
from backend.formats.task_file.alerts import AlertRules
from backend.server.alerting.mail import OutgoingMail
from backend.server.alerting.messenger import AlertDestinations, Messenger
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE


class Post:
    """A mail server's handler: keeps what it takes."""

    def __init__(self) -> None:
        self.taken: asyncio.Queue[Envelope] = asyncio.Queue()

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's.
        self.taken.put_nowait(envelope)
        return "250 OK"


@pytest.mark.parametrize(
    "title", ["Tiny\nBcc: eve@example.org", "Tiny\r\n\r\nBuy", "Tiny\u2028\x00x", "T\x85\x0bx"]
)
async def test_alerts_of_a_task_with_any_title_arrive(tmp_path: Path, title: str) -> None:
    file = read_task_file(write_task(tmp_path / "tiny") / "task.toml")
    alerts = msgspec.toml.decode('email = ["ann@example.org"]', type=AlertRules)
    post = Post()
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(post), "127.0.0.1", 0)
    async with server, asyncio.timeout(PATIENCE):
        mailbox = OutgoingMail(
            "127.0.0.1", server.sockets[0].getsockname()[1], "minga@example.org", security="none"
        )
        messenger = Messenger(
            msgspec.structs.replace(file, title=title, alerts=alerts), AlertDestinations(mailbox=mailbox)
        )
        running = asyncio.create_task(messenger.run())
        for text in ("the first", "the second"):
            messenger.send("too-few", text)
            taken = asyncio.create_task(post.taken.get())
            await asyncio.wait([running, taken], return_when=asyncio.FIRST_COMPLETED)
            assert not running.done(), running.exception()
            content = (await taken).content
            assert isinstance(content, bytes)
            message = message_from_bytes(content)
            assert (message["Bcc"], str(message.get_payload()).strip()) == (None, text)
            assert message["Subject"].startswith("Minga: T")
        running.cancel()
