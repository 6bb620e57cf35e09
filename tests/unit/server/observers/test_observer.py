from __future__ import annotations

from backend.server.observers.observer import Observers
from backend.server.observers.task_events import ClientLeft, TaskEvent


class Broken:
    def notice(self, task: str, event: TaskEvent) -> None:
        raise RuntimeError(f"broken by {task}: {event}")


class Keeping:
    def __init__(self) -> None:
        self.noticed: list[tuple[str, TaskEvent]] = []

    def notice(self, task: str, event: TaskEvent) -> None:
        self.noticed.append((task, event))


def test_an_observer_that_fails_hides_nothing_from_the_others() -> None:
    first, last = Keeping(), Keeping()
    Observers([first, Broken(), last]).notice("digits", ClientLeft("a", lost=True))
    assert first.noticed == last.noticed == [("digits", ClientLeft("a", lost=True))]
