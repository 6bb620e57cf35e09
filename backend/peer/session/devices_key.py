"""The secret key by which a volunteer's devices are known together, and the link of this machine to it."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

import httpx

from backend.errors import PeerError, UnreachableError
from backend.peer.session.server_address import ServerAddress

PREFIX = "minga_devices_"
# The file in the folder of the peer's state.
FILE = "devices-key"
_KEY = re.compile(f"{PREFIX}[A-Za-z0-9_-]{{43}}")


def read_devices_key(path: Path) -> str:
    """Returns the key in a file. Raises PeerError."""
    try:
        key = path.expanduser().read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PeerError(f"The key of your devices cannot be read from {path}: {error}.") from error
    if not _KEY.fullmatch(key):
        raise PeerError(
            f"{path} has no key of devices: copy it from *Your devices* on a training page, or make one with "
            "`minga peer key`."
        )
    return key


def stored_devices_key(state: Path) -> str:
    """Returns this machine's key, which it makes if there is none. Raises OSError and PeerError."""
    path = state / FILE
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as writer:
            writer.write(f"{PREFIX}{secrets.token_urlsafe(32)}\n")
    return read_devices_key(path)


async def link_device(
    client: httpx.AsyncClient, server: ServerAddress, key: str, token: str, name: str
) -> int:
    """Links this machine; returns how many devices the key's holder has.

    Raises PeerError when the server refuses, and UnreachableError when it does not answer or is too busy.
    """
    body = {"key": key, "token": token, "name": name}
    try:
        response = await client.put(f"{server.root}/api/devices", json=body)
    except httpx.TransportError as error:
        raise UnreachableError(f"{server.root} does not answer ({error or type(error).__name__}).") from error
    if response.status_code >= 500 or response.status_code == 429:
        raise UnreachableError(f"{server.root} answers {response.status_code}.")
    if response.status_code != 200:
        raise PeerError(f"{server.root} knows nothing of linked devices; leave --key out.")
    return len(response.json()["devices"])
