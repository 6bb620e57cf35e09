"""Controls the task of a benchmark's server as its owner, and reads the task's records."""

from __future__ import annotations

from typing import Any

from tests.support.web.visitors import Visitor

MAX_RESULTS = 1000


class TaskOwner:
    """Is signed in as the operator of the server with this report; `task` is one of work units."""

    def __init__(self, report: dict[str, Any], task: str) -> None:
        self._path = f"/api/tasks/{task}"
        self._visitor = Visitor(report["url"])
        code = report["owner_link"].partition("#")[2]
        self._visitor.ask("POST", "/api/sign-in/link", {"code": code, "name": "owner"})

    def send_order(self, order: str) -> None:
        """Pauses, resumes or ends the task."""
        self._visitor.ask("POST", f"{self._path}/orders", {"order": order, "reason": "", "cut": False})

    def ready_count(self) -> int:
        """Returns the number of clients that have loaded the model and take units."""
        return sum(one["slots"] > 0 for one in self.get("/units")["trust"])

    def is_finished(self) -> bool:
        """Returns whether all epochs are over."""
        summary = self.get("")
        return bool(summary["version"] == summary["rounds"])

    def results(self) -> list[dict[str, Any]]:
        """Returns the newest assimilated results in order; most benchmarks have no more in all."""
        results: list[dict[str, Any]] = self.get(f"/units/history?last={MAX_RESULTS}")["results"]
        return results

    def get(self, path: str) -> Any:
        """Returns what the server answers below the task's address."""
        return self._visitor.ask("GET", f"{self._path}{path}")
