"""What the rounds of every task have in common, as a machine without I/O: `federated.py` and
`mesh_coordinator.py` add what becomes of what clients trained.

Its host owns sockets, clock and arithmetic: it reports events with `now` (seconds of any steady clock),
performs the effects they return, and calls `time_passed` at `timer()`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from backend.protocols.rounds.attendance import Attendance
from backend.protocols.rounds.deadline import Speeds
from backend.protocols.rounds.evaluation import OpenEvaluation, open_measuring
from backend.protocols.rounds.phases import RETRY_SECONDS, TRANSITIONS, IllegalEventError, RoundPhase
from backend.protocols.rounds.plan import RoundPlan
from backend.protocols.rounds.round_effects import Abandon, ClientId, Common, Finished
from backend.protocols.rounds.shard_assignment import ShardAssigner
from backend.protocols.rounds.stop_rules import RunProgress, Source
from backend.wire.messages import Aggregation, Evaluation, Status


class OpenRound(Protocol):
    """The members of a round that is not over."""

    opened: float

    def timer(self) -> float | None:
        """When something is due; None when nothing more is awaited of clients."""

    def deadline(self) -> float | None:
        """When what is awaited of clients is due at the latest."""

    def counts(self) -> tuple[int, int]:
        """How many are asked for something, and how many of them are done."""

    def status(self, client: ClientId) -> Status | None:
        """What a member does, in the wire's word; None of one that is not in it (any more)."""

    def returned(self, client: ClientId) -> None:
        """A client is connected (again)."""

    def left(self, client: ClientId, now: float, lost: bool) -> None:
        """A client stopped, or its connection was lost."""

    def dealt(self) -> dict[ClientId, tuple[int, ...]]:
        """The shards that each member was dealt."""


Open = TypeVar("Open", bound=OpenRound)
Own = TypeVar("Own")


class Rounds(ABC, Generic[Open, Own]):
    """The rounds of one task, one after the other; `open` is the one that runs.

    `number` and `version` are the last of an earlier run of the server, `progress` what its stop rules saw
    and `past` how often each client took part. Effects are `Own` to the kind of rounds, or common to all.
    """

    def __init__(
        self,
        plan: RoundPlan,
        number: int = 0,
        version: int = 0,
        progress: RunProgress | None = None,
        past: Mapping[ClientId, int] | None = None,
    ) -> None:
        self.plan = plan
        self.round = number
        self.version = version
        self.attendance = Attendance(plan.own_data, past or {})
        self.open: Open | None = None
        self.measuring: OpenEvaluation | None = None
        self._progress = progress or RunProgress(plan.stop)
        self._speeds = Speeds()
        self._dealer = _dealer(plan)
        self._gathered = 0.0
        self._stop: str | None = None
        self._held = False
        self.phase = RoundPhase.FINISHED if self.reason_to_finish() else RoundPhase.WAITING

    # What the host asks.

    def timer(self) -> float | None:
        """When `time_passed` is due; None while only an event can change anything."""
        if self.phase is RoundPhase.GATHERING:
            return self._gathered
        if self.open:
            return self.open.timer()
        return self.measuring.timer() if self.measuring else None

    def deadline(self) -> float | None:
        """When the open round or evaluation ends at the latest."""
        if self.open:
            return self.open.deadline()
        return self.measuring.until if self.measuring else None

    @property
    def quorum(self) -> int:
        """How many must do their part at least, so that a round makes a version."""
        return self.plan.quorum

    @abstractmethod
    def needed(self) -> int:
        """How many more clients must be ready before a round opens."""

    def reports(self) -> tuple[int, int]:
        """How many were asked in the open round or evaluation, and how many of them are done."""
        if self.measuring:
            return len(self.measuring.asked), len(self.measuring.asked) - len(self.measuring.outstanding())
        return self.open.counts() if self.open else (0, 0)

    def status(self, client: ClientId) -> Status:
        """What a connected client does, in the wire's word."""
        if self.measuring and self.measuring.awaits(client):
            return "evaluating"
        if self.open and (status := self.open.status(client)):
            return status
        return "ready" if self.attendance.is_ready(client) else "loading"

    def step_ms(self, client: ClientId) -> float:
        """How long a step takes a connected client, by its own word; 0 where it has not said."""
        return self.attendance[client].step_ms

    def reason_to_finish(self) -> str | None:
        """Why there are no more rounds, for people; None while there are."""
        if self.version >= self.plan.rounds:
            return "All rounds are done."
        return self._stop or self._progress.reason()

    # Clients come and go.

    def client_joined(self, client: ClientId, aggregation: Aggregation = "open") -> None:
        """A client is here, whose updates are added up by `aggregation`.

        One that lost its connection within the open round is a member still.
        """
        self.attendance.join(client, aggregation)
        for one in (self.open, self.measuring):
            if one:
                one.returned(client)

    def client_ready(
        self, client: ClientId, now: float, step_ms: float = 0.0, examples: int = 0
    ) -> list[Own | Common]:
        """A client may be selected. One that still owes its part of what is open is told it again.

        Where clients train on their own `examples`, one that has none is not selected.
        """
        present = self.attendance[client]
        present.step_ms, present.examples = max(0.0, step_ms), examples
        self.attendance.ready(client)
        if owed := self._owed(client, now):
            return owed
        if self.measuring and self.measuring.awaits(client):
            return [self.measuring.question(client, now)]
        self._scatter()
        return self._gather(now)

    def client_left(self, client: ClientId, now: float, lost: bool) -> list[Own | Common]:
        """A client stopped, or its connection was lost and it may come back."""
        _ = self.attendance[client]
        self.attendance.leave(client)
        for one in (self.open, self.measuring):
            if one:
                one.left(client, now, lost)
        self._scatter()
        return self._settle(now)

    # Evaluation, and reasons to stop.

    def evaluation_arrived(self, client: ClientId, report: Evaluation, now: float) -> list[Own | Common]:
        """A client measured what it was asked to. An answer that nobody awaits is a sign of life only."""
        self.attendance.ready(client)
        if self.measuring and self.measuring.answered(client, report, self.plan.metric_rows):
            return self._settle(now)
        return self._gather(now)

    def version_evaluated(
        self, version: int, source: Source, loss: float, metrics: Mapping[str, float]
    ) -> list[Own | Common]:
        """A version was measured, which may be a reason to stop. An open round still ends as it would."""
        self._progress.measured(version, source, loss, metrics)
        return self._stop_now()

    # What the owner decides.

    def stop_requested(self, reason: str) -> list[Own | Common]:
        """The owner has enough. An open round still ends as it would."""
        self._stop = reason
        return self._stop_now()

    def pause_requested(self) -> list[Own | Common]:
        """No round opens before `resume_requested`. An open round still ends as it would."""
        self._held = True
        if self.phase in (RoundPhase.WAITING, RoundPhase.GATHERING):
            self._enter(RoundPhase.PAUSED)
        return []

    def resume_requested(self, now: float) -> list[Own | Common]:
        """Rounds open again, also of a task that its owner had ended; nothing where its rules did."""
        self._held, self._stop = False, None
        may = self.reason_to_finish() is None
        if self.phase is RoundPhase.PAUSED or (self.phase is RoundPhase.FINISHED and may):
            self._enter(RoundPhase.WAITING)
        return self._gather(now)

    @abstractmethod
    def cut_short(self, reason: str, now: float) -> list[Own | Common]:
        """Abandons the open round as far as clients are awaited in it: what is made of what they sent is
        made. To be called after `pause_requested` or `stop_requested`."""

    def time_passed(self, now: float) -> list[Own | Common]:
        """The clock reached `timer()` (or any other time: then nothing happens)."""
        if self.phase is RoundPhase.GATHERING and now >= self._gathered:
            return self._begin(now)
        return self._settle(now)

    # What each kind of rounds does its own way.

    @abstractmethod
    def _begin(self, now: float) -> list[Own | Common]:
        """Opens the next round."""

    @abstractmethod
    def _owed(self, client: ClientId, now: float) -> list[Own | Common]:
        """What `client` is told again, as it has not done it in the open round; nothing otherwise."""

    @abstractmethod
    def _settle_open(self, running: Open, due: bool, now: float) -> list[Own | Common]:
        """Ends the open round, or what is awaited in it, when enough is there, nobody is left to wait for,
        or its time is up (`due`)."""

    # What follows what.

    def _enter(self, phase: RoundPhase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise IllegalEventError(f"{self.phase} does not lead to {phase}.")
        self.phase = phase

    def _gather(self, now: float) -> list[Own | Common]:
        if self.phase is not RoundPhase.WAITING or self.needed():
            return []
        if not self.plan.gather:
            return self._begin(now)
        self._enter(RoundPhase.GATHERING)
        self._gathered = now + self.plan.gather
        return []

    def _scatter(self) -> None:
        """Ends the gathering when too few are left of those who could be chosen."""
        if self.phase is RoundPhase.GATHERING and self.needed():
            self._enter(RoundPhase.WAITING)

    def _settle(self, now: float) -> list[Own | Common]:
        timer = self.timer()
        due = timer is not None and now >= timer
        if self.measuring:
            return self._conclude(self.measuring, now) if due or not self.measuring.outstanding() else []
        return self._settle_open(self.open, due, now) if self.open else []

    def _made(self, version: int, seconds: float, now: float) -> list[Own | Common]:
        """`version` is recorded, `seconds` after its round began: clients measure it if they are to."""
        self.version = version
        self._close(seconds)
        if not self.plan.measures(version) or not self.attendance.available:
            return self._go_on(now)
        self._enter(RoundPhase.EVALUATING)
        self.measuring = open_measuring(self.plan, self.attendance, self.round, version, seconds, now)
        return [self.measuring.question(client, now) for client in self.measuring.asked]

    def _abandon(self, reason: str, now: float) -> list[Own | Common]:
        """The open round counts for nothing."""
        if self.open:
            self._put_back(self.open)
        self._close(now - self.open.opened if self.open else 0.0)
        self._speeds.failed = True
        abandoned = Abandon(self.round, reason)
        if self.reason_to_finish():
            return [abandoned, *self._go_on(now)]
        if self._held:
            self._enter(RoundPhase.PAUSED)
        elif self.needed():
            self._enter(RoundPhase.WAITING)
        else:
            self._enter(RoundPhase.GATHERING)
            self._gathered = now + max(RETRY_SECONDS, self.plan.gather)
        return [abandoned]

    def _put_back(self, running: Open) -> None:
        """Nothing came of what members were dealt."""
        if self._dealer:
            self._dealer.put_back(running.dealt())

    def _close(self, seconds: float) -> None:
        """Forgets the members of a round that took so long."""
        self.open = None
        self._speeds.failed = False
        self._progress.spent += seconds

    def _conclude(self, measuring: OpenEvaluation, now: float) -> list[Own | Common]:
        self.measuring = None
        found = measuring.end(self.plan)
        if found is None:
            return self._go_on(now)
        self._progress.measured(found.version, "clients", found.loss, found.metrics)
        return [found, *self._go_on(now)]

    def _go_on(self, now: float) -> list[Own | Common]:
        """What follows when a round is over, and its version measured."""
        if reason := self.reason_to_finish():
            self._enter(RoundPhase.FINISHED)
            return [Finished(self.version, reason)]
        if not self._held and not self.needed():
            return self._begin(now)
        self._enter(RoundPhase.PAUSED if self._held else RoundPhase.WAITING)
        return []

    def _stop_now(self) -> list[Own | Common]:
        reason = self.reason_to_finish()
        if reason is None or self.phase not in (RoundPhase.WAITING, RoundPhase.GATHERING, RoundPhase.PAUSED):
            return []
        self._enter(RoundPhase.FINISHED)
        return [Finished(self.version, reason)]


def _dealer(plan: RoundPlan) -> ShardAssigner | None:
    """Who deals out the task's shards; nobody where clients train on their own examples."""
    if plan.own_data:
        return None
    return ShardAssigner(len(plan.shard_examples), plan.shards_per_client, plan.seed, plan.shard_parts)
