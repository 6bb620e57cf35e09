"""What a server tells of the three tasks and the draft of a recorded data folder."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.request import urlopen

from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server
from tests.support.web.visitors import Visitor

TASKS = ("rounds", "units", "mesh")


def state_of(server: Server, token: str) -> dict[str, Any]:
    """Versions, rounds, contributions and the newest weights' hash of each task, and the owner's drafts."""
    owner = Visitor(server.url, token)
    state: dict[str, Any] = {"drafts": owner.ask("GET", "/api/drafts")}
    for task in TASKS:
        versions = owner.ask("GET", f"/api/tasks/{task}/versions")["versions"]
        newest = max(version["version"] for version in versions)
        with urlopen(f"{server.url}/tasks/{task}/versions/{newest}/npz", timeout=PATIENCE) as answer:
            archive = answer.read()
        state[task] = {
            # Earlier servers did not check versions.
            "versions": [{name: value for name, value in one.items() if name != "check"} for one in versions],
            # Earlier servers had no robust rules, and no probation.
            "rounds": [
                {
                    name: value
                    for name, value in one.items()
                    if name not in ("rule", "checked", "groups", "groups_used")
                }
                for one in owner.ask("GET", f"/api/tasks/{task}/rounds")["rounds"]
            ],
            "contributions": [
                # Operations follow from the examples, and earlier servers did not tell them.
                {name: value for name, value in one.items() if name != "operations"}
                for one in owner.ask("GET", f"/api/tasks/{task}/contributions")["contributions"]
            ],
            "npz": hashlib.sha256(archive).hexdigest(),
        }
    return state
