"""Sends alerts as a POST of JSON, only to servers that the operator allows.

The owner's task file names the address. It must not give access to the server's own network (SSRF): an origin
that the operator did not list is refused when the task is opened, and redirects are not followed.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from backend.errors import TaskFileError

TIMEOUT_SECONDS = 10.0
_PORTS = {"https": 443, "http": 80}


def origin_of(url: str) -> str:
    """Returns scheme, host and port of an address: `https://hooks.example.org:443`. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None or parts.fragment:
        raise ValueError("it is not an address like https://hooks.example.org/path")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{parts.port or _PORTS[parts.scheme]}"


def check_webhook(task: str, url: str, allowed: Collection[str]) -> None:
    """Checks that the server may call `url`. Raises TaskFileError, which tells the owner what to do."""
    try:
        origin = origin_of(url)
    except ValueError as error:
        raise TaskFileError(f"{task}: alerts.webhook is '{url}': {error}.") from error
    if origin not in allowed:
        raise TaskFileError(
            f"{task}: alerts.webhook goes to {origin}, which this server may not call. Ask its operator to "
            "add it to MINGA_WEBHOOK_ORIGINS, or take it out."
        )


def post(url: str, content: Mapping[str, Any]) -> None:
    """Sends `content` and waits for the answer. Raises OSError unless its status is 2xx."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port or _PORTS[parts.scheme], timeout=TIMEOUT_SECONDS)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"Content-Type": "application/json", "User-Agent": "minga"}
    try:
        connection.request("POST", path, json.dumps(content).encode(), headers)
        status = connection.getresponse().status
    except http.client.HTTPException as error:
        raise OSError(f"{type(error).__name__} from {parts.hostname}") from error
    finally:
        connection.close()
    if not 200 <= status < 300:
        raise OSError(f"{parts.hostname} answered {status}")
