"""Sends alerts by e-mail through the operator's mail server."""

from __future__ import annotations

import smtplib
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Literal

TIMEOUT_SECONDS = 20.0
Security = Literal["starttls", "tls", "none"]


@dataclass(frozen=True)
class OutgoingMail:
    """The mail server and the sender of e-mails. Without a `host` no e-mail is sent."""

    host: str = ""
    port: int = 587
    sender: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    security: Security = "starttls"


NO_MAIL = OutgoingMail()


def send(outgoing: OutgoingMail, to: Sequence[str], subject: str, text: str) -> None:
    """Sends one message to all receivers. Raises OSError (smtplib's errors are OSErrors) on failure.

    The subject may be any text; it is written as one line.
    """
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = outgoing.sender, ", ".join(to), one_line(subject)
    message.set_content(text)
    kind = smtplib.SMTP_SSL if outgoing.security == "tls" else smtplib.SMTP
    with kind(outgoing.host, outgoing.port, timeout=TIMEOUT_SECONDS) as server:
        if outgoing.security == "starttls":
            server.starttls()
        if outgoing.username:
            server.login(outgoing.username, outgoing.password)
        server.send_message(message)


def one_line(text: str) -> str:
    """Returns a text as a header may hold it: a line break would begin another header."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())
