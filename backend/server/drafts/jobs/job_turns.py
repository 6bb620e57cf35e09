"""Orders the jobs of all owners: each owner has a queue, and owners take turns."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

from backend.server.drafts.record import Draft, JobKind


@dataclass(eq=False)
class QueuedJob:
    """A job that waits or runs. `cancel` is set to end it."""

    draft: Draft
    kind: JobKind
    cancel: threading.Event = field(default_factory=threading.Event)

    @property
    def owner(self) -> str:
        """Returns the owner whose turn the job takes."""
        return self.draft.owner

    def is_of(self, draft: Draft, kind: JobKind) -> bool:
        """Whether it is this job of this draft."""
        return self.draft is draft and self.kind == kind


class JobTurns:
    """Holds the waiting jobs, and the running ones, of which an owner has at most one.

    An owner who had a turn comes after all other owners whose jobs wait.
    """

    def __init__(self) -> None:
        # The order of the keys is the order of the turns.
        self._waiting: dict[str, deque[QueuedJob]] = {}
        self._running: dict[str, QueuedJob] = {}

    @property
    def running(self) -> list[QueuedJob]:
        """Returns the running jobs."""
        return list(self._running.values())

    def is_due(self, owner: str, workers: int) -> bool:
        """Whether a new job of `owner` starts at once."""
        busy = len(self._running) + len(self._waiting)
        return busy < workers and owner not in self._running and owner not in self._waiting

    def add(self, draft: Draft, kind: JobKind, first: bool = False) -> None:
        """Queues a job behind its owner's others, or `first` before them."""
        queue = self._waiting.setdefault(draft.owner, deque())
        (queue.appendleft if first else queue.append)(QueuedJob(draft, kind))

    def start(self) -> QueuedJob | None:
        """Returns the job whose turn it is, which runs from now on; None if no owner's job may start."""
        owner = next((owner for owner in self._waiting if owner not in self._running), None)
        if owner is None:
            return None
        queue = self._waiting.pop(owner)
        job = self._running[owner] = queue.popleft()
        if queue:
            self._waiting[owner] = queue
        return job

    def end(self, job: QueuedJob) -> None:
        """Ends the turn of a running job."""
        del self._running[job.owner]

    def runs(self, draft: Draft, kind: JobKind) -> QueuedJob | None:
        """Returns this job if it runs."""
        return next((job for job in self.running if job.is_of(draft, kind)), None)

    def remove(self, draft: Draft, kind: JobKind) -> None:
        """Removes a waiting job; the order of all others stays."""
        queue = self._waiting.get(draft.owner, deque())
        kept = deque(job for job in queue if not job.is_of(draft, kind))
        if kept:
            self._waiting[draft.owner] = kept
        else:
            self._waiting.pop(draft.owner, None)
