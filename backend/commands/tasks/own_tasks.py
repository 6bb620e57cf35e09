"""Labs attack only tasks of the person who runs them: a folder on this machine, never a server's address."""

from __future__ import annotations

import re
from pathlib import Path

from backend.errors import SettingsError

# A scheme, a host with a port, or the path of a task's page.
_ADDRESS = re.compile(r"://|^[\w.-]+:\d+(/|$)|/tasks/")


def refuse_address(text: str) -> None:
    """Raises SettingsError, which says what to do, if `text` is an address and no path of this machine."""
    if _ADDRESS.search(text) and not Path(text).exists():
        raise SettingsError(
            f"{text} is an address, and the lab attacks only tasks of the account that runs it, on this "
            "machine. Give the folder of a task of yours. If it is on a server, download it at the foot of "
            "its dashboard first."
        )
