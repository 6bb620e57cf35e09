"""Alerts by e-mail, through the operator's own mail server."""

from __future__ import annotations

import smtplib
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Literal

SECONDS = 20.0
Security = Literal["starttls", "tls", "none"]


@dataclass(frozen=True)
class OutgoingMail:
    """From where the server sends. Without a `host` it sends nothing."""

    host: str = ""
    port: int = 587
    sender: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    security: Security = "starttls"


NO_MAIL = OutgoingMail()


def send(box: OutgoingMail, to: Sequence[str], subject: str, text: str) -> None:
    """Sends one message to all. Raises OSError (smtplib's are such) where the server does not take it."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = box.sender, ", ".join(to), subject
    message.set_content(text)
    kind = smtplib.SMTP_SSL if box.security == "tls" else smtplib.SMTP
    with kind(box.host, box.port, timeout=SECONDS) as server:
        if box.security == "starttls":
            server.starttls()
        if box.username:
            server.login(box.username, box.password)
        server.send_message(message)
