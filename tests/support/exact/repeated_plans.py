"""Repeats what a server asked of its clients, with other engines.

Plans depend on the clients' ids and the server's lots: with both, other clients get the same plans.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

from backend.peer.session.identity import STATE
from backend.stores.secret import FILE
from tests.support.exact.engines import BrowserTab
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server

START = "() => document.querySelector('[data-action=start]').click()"


def start_training(tab: BrowserTab) -> str:
    """Starts the training on a page; returns the page's secret token."""
    tab.evaluate(START)
    token: str = tab.evaluate("() => localStorage.getItem('minga-token')")
    return token


def make_home(folder: Path, token: str) -> Path:
    """Returns the home of a headless peer with this token, in the new `folder`."""
    state = folder / STATE.relative_to("~")
    state.mkdir(parents=True)
    (state / "token").write_text(token, "ascii")
    return folder


def copy_lots(data: Path, copy: Path) -> Path:
    """Returns the new data folder `copy` of a server that gives the same clients the same plans."""
    copy.mkdir()
    shutil.copy(data / FILE, copy / FILE)
    return copy


def await_versions(server: Server, task: str) -> dict[int, str]:
    """Waits until the task is finished; returns the hash of each version's weights."""
    until = time.monotonic() + LONG
    while server.get(f"/api/tasks/{task}")["phase"] != "finished":
        assert time.monotonic() < until, "the task does not finish"
        time.sleep(0.5)
    versions: list[dict[str, Any]] = server.get(f"/api/tasks/{task}/versions")["versions"]
    return {one["version"]: one["weights"] for one in versions}
