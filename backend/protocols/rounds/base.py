"""The base of the round machines, without I/O; `federated.py` and the mesh's coordinator extend it.

The host owns sockets, clock and arithmetic: it reports events with `now` (seconds of any steady clock),
performs the effects that they return, and calls `time_passed` at `timer()`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from backend.protocols.rounds.attendance import Attendance
from backend.protocols.rounds.deadline import ClientSpeeds
from backend.protocols.rounds.evaluation import OpenEvaluation, open_evaluation
from backend.protocols.rounds.exclusions import Exclusions
from backend.protocols.rounds.lots import PUBLIC_LOTS, Lots
from backend.protocols.rounds.phases import RETRY_SECONDS, TRANSITIONS, IllegalEventError, RoundPhase
from backend.protocols.rounds.plan import RoundPlan
from backend.protocols.rounds.probation import probation_of
from backend.protocols.rounds.round_effects import Abandon, ClientId, Common, Finished
from backend.protocols.rounds.shard_assignment import ShardAssigner
from backend.protocols.rounds.stop_rules import RunProgress, Source
from backend.wire.messages import Aggregation, Evaluation, Status


class OpenRound(Protocol):
    """The members of the open round."""

    opened: float

    def timer(self) -> float | None:
        """When a deadline is due, given who is connected; None when the round waits for no client."""

    def deadline(self) -> float | None:
        """When the round waits for no client any more; None when it waits for none already."""

    def counts(self) -> tuple[int, int]:
        """The number of members, and of those that are done."""

    def status(self, client: ClientId) -> Status | None:
        """What a member does, as it is reported to clients; None for any other client."""

    def returned(self, client: ClientId) -> None:
        """Notes that a client is connected (again)."""

    def left(self, client: ClientId, now: float, lost: bool) -> None:
        """Notes that a client stopped, or lost its connection."""

    def assigned(self) -> dict[ClientId, tuple[int, ...]]:
        """The shards that each member was assigned."""


Open = TypeVar("Open", bound=OpenRound)
Own = TypeVar("Own")


class Rounds(ABC, Generic[Open, Own]):
    """Runs the rounds of one task one after the other; `open` is the open round.

    `number` and `version` are the last ones of an earlier run of the server, `progress` is what its stop
    rules tracked, `past` the participations of each client. `lots` break ties between clients. `checked` is
    the number of rounds in which updates of each identity were checked, for the plan's probation.
    `repeats` is the number of versions that equal the one before; they count as none of the plan's rounds.
    Effects are `Own` to the kind of rounds, or common.
    """

    def __init__(
        self,
        plan: RoundPlan,
        number: int = 0,
        version: int = 0,
        progress: RunProgress | None = None,
        past: Mapping[ClientId, int] | None = None,
        lots: Lots = PUBLIC_LOTS,
        repeats: int = 0,
        checked: Mapping[str, int] | None = None,
    ) -> None:
        self.plan = plan
        self.round = number
        self.version = version
        self.repeats = repeats
        self.attendance = Attendance(plan.own_data, past or {}, lots, plan.most_per_household)
        self.probation = probation_of(plan.probation_rounds, checked or {}, past or {})
        self.exclusions = Exclusions()
        self.open: Open | None = None
        self.evaluation: OpenEvaluation | None = None
        self._progress = progress or RunProgress(plan.stop)
        self._speeds = ClientSpeeds()
        self._assigner = _shard_assigner(plan)
        self._gathered = 0.0
        self._stop: str | None = None
        self._paused = False
        self.phase = RoundPhase.FINISHED if self.reason_to_finish() else RoundPhase.WAITING

    # Queries of the host.

    def timer(self) -> float | None:
        """When `time_passed` is due; None while only events change anything."""
        if self.phase is RoundPhase.GATHERING:
            return self._gathered
        if self.phase is RoundPhase.WAITING:
            return self.exclusions.next_end()
        if self.open:
            return self.open.timer()
        return self.evaluation.timer() if self.evaluation else None

    def deadline(self) -> float | None:
        """When the open round or evaluation ends at the latest."""
        if self.open:
            return self.open.deadline()
        return self.evaluation.until if self.evaluation else None

    @property
    def quorum(self) -> int:
        """The number of members that must do their part so that a round makes a version."""
        return self.plan.quorum

    @abstractmethod
    def needed(self) -> int:
        """The number of clients that are missing before a round opens."""

    def reports(self) -> tuple[int, int]:
        """The number of members of the open round or evaluation, and of those that are done."""
        if self.evaluation:
            return len(self.evaluation.asked), len(self.evaluation.asked) - len(self.evaluation.outstanding())
        return self.open.counts() if self.open else (0, 0)

    def status(self, client: ClientId) -> Status:
        """What a connected client does, as it is reported to clients."""
        if self.evaluation and self.evaluation.awaits(client):
            return "evaluating"
        if self.open and (status := self.open.status(client)):
            return status
        if client in self.exclusions:
            return "refused"
        return "ready" if self.attendance.is_ready(client) else "loading"

    def step_ms(self, client: ClientId) -> float:
        """The time of a step that a connected client reported; 0 before it did."""
        return self.attendance[client].step_ms

    def reason_to_finish(self) -> str | None:
        """Returns why the task finishes, as a sentence for people; None while it does not."""
        if self.version - self.repeats >= self.plan.rounds:
            return "All rounds are done."
        return self._stop or self._progress.reason()

    # Connections of clients.

    def client_joined(
        self,
        client: ClientId,
        aggregation: Aggregation = "open",
        household: str = "",
        identity: str = "",
    ) -> None:
        """Adds a client of `household` that connected, whose updates are added up by `aggregation`.

        A client that lost its connection during the open round is still a member. Probation is served by its
        `identity`: by itself, if it has no other.
        """
        self.attendance.join(
            client, aggregation, household, self.probation.joined(client, identity or client)
        )
        for activity in (self.open, self.evaluation):
            if activity:
                activity.returned(client)

    def client_ready(
        self, client: ClientId, now: float, step_ms: float = 0.0, examples: int = 0
    ) -> list[Own | Common]:
        """Makes a client eligible. A member that has not done its part is sent its work again.

        Where clients train on their own `examples`, a client without examples is not eligible.
        """
        connected = self.attendance[client]
        connected.step_ms, connected.examples = max(0.0, step_ms), examples
        self.attendance.ready(client)
        if effects := self._resend(client, now):
            return effects
        if self.evaluation and self.evaluation.awaits(client):
            return [self.evaluation.evaluate_effect(client, now)]
        self._stop_gathering()
        return self._gather(now)

    def client_left(self, client: ClientId, now: float, lost: bool) -> list[Own | Common]:
        """Removes a client that stopped, or whose connection was lost so that it may come back."""
        _ = self.attendance[client]
        self.attendance.leave(client)
        self.probation.left(client)
        for activity in (self.open, self.evaluation):
            if activity:
                activity.left(client, now, lost)
        self._stop_gathering()
        return self._settle(now)

    # Evaluation and stop rules.

    def evaluation_arrived(self, client: ClientId, report: Evaluation, now: float) -> list[Own | Common]:
        """Takes a client's evaluation. One that is not awaited only makes the client eligible."""
        self.attendance.ready(client)
        if self.evaluation and self.evaluation.answered(client, report, self.plan.metric_rows):
            return self._settle(now)
        return self._gather(now)

    def version_evaluated(
        self, version: int, source: Source, loss: float, metrics: Mapping[str, float]
    ) -> list[Own | Common]:
        """Records an evaluation, by which a stop rule may finish the task. An open round ends as usual."""
        self._progress.measured(version, source, loss, metrics)
        return self._stop_now()

    # Commands of the owner.

    def stop_requested(self, reason: str) -> list[Own | Common]:
        """Finishes the task. An open round ends as usual."""
        self._stop = reason
        return self._stop_now()

    def pause_requested(self) -> list[Own | Common]:
        """Opens no round before `resume_requested`. An open round ends as usual."""
        self._paused = True
        if self.phase in (RoundPhase.WAITING, RoundPhase.GATHERING):
            self._enter(RoundPhase.PAUSED)
        return []

    def resume_requested(self, now: float) -> list[Own | Common]:
        """Opens rounds again, also after `stop_requested`, unless a stop rule finished the task."""
        self._paused, self._stop = False, None
        may = self.reason_to_finish() is None
        if self.phase is RoundPhase.PAUSED or (self.phase is RoundPhase.FINISHED and may):
            self._enter(RoundPhase.WAITING)
        return self._gather(now)

    @abstractmethod
    def cut_short(self, reason: str, now: float) -> list[Own | Common]:
        """Abandons the open round if it waits for clients; one that makes a version already ends as usual.

        To be called after `pause_requested` or `stop_requested`.
        """

    def time_passed(self, now: float) -> list[Own | Common]:
        """Performs what is due at `now`; does nothing before `timer()`."""
        if self.phase is RoundPhase.GATHERING and now >= self._gathered:
            return self._begin(now)
        if self.phase is RoundPhase.WAITING:
            return self._gather(now)
        return self._settle(now)

    # Steps that each kind of rounds implements.

    @abstractmethod
    def _begin(self, now: float) -> list[Own | Common]:
        """Opens the next round."""

    @abstractmethod
    def _resend(self, client: ClientId, now: float) -> list[Own | Common]:
        """Sends `client` its work again if it has not done its part of the open round."""

    @abstractmethod
    def _settle_open(self, running: Open, due: bool, now: float) -> list[Own | Common]:
        """Ends the open round or a stage of it: enough arrived, nothing is outstanding, or it is `due`."""

    # Transitions.

    def _enter(self, phase: RoundPhase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise IllegalEventError(f"{self.phase} does not lead to {phase}.")
        self.phase = phase

    def _readmit(self, now: float) -> None:
        """Lets clients take part again that were kept out long enough."""
        for client in self.exclusions.ended(now):
            self.attendance.readmit(client)

    def _gather(self, now: float) -> list[Own | Common]:
        self._readmit(now)
        if self.phase is not RoundPhase.WAITING or self.needed():
            return []
        if not self.plan.gather:
            return self._begin(now)
        self._enter(RoundPhase.GATHERING)
        self._gathered = now + self.plan.gather
        return []

    def _stop_gathering(self) -> None:
        """Ends the gathering when too few clients are eligible."""
        if self.phase is RoundPhase.GATHERING and self.needed():
            self._enter(RoundPhase.WAITING)

    def _settle(self, now: float) -> list[Own | Common]:
        timer = self.timer()
        due = timer is not None and now >= timer
        if self.evaluation:
            return (
                self._end_evaluation(self.evaluation, now) if due or not self.evaluation.outstanding() else []
            )
        return self._settle_open(self.open, due, now) if self.open else []

    def _version_made(self, version: int, seconds: float, now: float) -> list[Own | Common]:
        """Asks clients to evaluate a recorded version, if the plan says so, or continues."""
        self.version = version
        for client in self.exclusions.version_made():
            self.attendance.readmit(client)
        self._close(seconds)
        if not self.plan.measures(version) or not self.attendance.available:
            return self._continue(now)
        self._enter(RoundPhase.EVALUATING)
        self.evaluation = open_evaluation(self.plan, self.attendance, self.round, version, seconds, now)
        return [self.evaluation.evaluate_effect(client, now) for client in self.evaluation.asked]

    def _abandon(self, reason: str, now: float) -> list[Own | Common]:
        """Abandons the open round."""
        self._readmit(now)
        if self.open:
            self._take_back(self.open)
        self._close(now - self.open.opened if self.open else 0.0)
        self._speeds.failed = True
        abandoned = Abandon(self.round, reason)
        if self.reason_to_finish():
            return [abandoned, *self._continue(now)]
        if self._paused:
            self._enter(RoundPhase.PAUSED)
        elif self.needed():
            self._enter(RoundPhase.WAITING)
        else:
            self._enter(RoundPhase.GATHERING)
            self._gathered = now + max(RETRY_SECONDS, self.plan.gather)
        return [abandoned]

    def _take_back(self, running: Open) -> None:
        """Takes back the shards that members were assigned."""
        if self._assigner:
            self._assigner.take_back(running.assigned())

    def _close(self, seconds: float) -> None:
        """Closes the open round, which took `seconds`."""
        self.open = None
        self._speeds.failed = False
        self._progress.spent += seconds

    def _end_evaluation(self, evaluation: OpenEvaluation, now: float) -> list[Own | Common]:
        self.evaluation = None
        record = evaluation.end(self.plan)
        if record is None:
            return self._continue(now)
        self._progress.measured(record.version, "clients", record.loss, record.metrics)
        return [record, *self._continue(now)]

    def _continue(self, now: float) -> list[Own | Common]:
        """Finishes the task, opens the next round, or waits, after a round and its evaluation."""
        self._readmit(now)
        if reason := self.reason_to_finish():
            self._enter(RoundPhase.FINISHED)
            return [Finished(self.version, reason)]
        if not self._paused and not self.needed():
            return self._begin(now)
        self._enter(RoundPhase.PAUSED if self._paused else RoundPhase.WAITING)
        return []

    def _stop_now(self) -> list[Own | Common]:
        reason = self.reason_to_finish()
        if reason is None or self.phase not in (RoundPhase.WAITING, RoundPhase.GATHERING, RoundPhase.PAUSED):
            return []
        self._enter(RoundPhase.FINISHED)
        return [Finished(self.version, reason)]


def _shard_assigner(plan: RoundPlan) -> ShardAssigner | None:
    """Returns the assigner of the task's shards; None where clients train on their own examples."""
    if plan.own_data:
        return None
    return ShardAssigner(len(plan.shard_examples), plan.shards_per_client, plan.seed, plan.shard_parts)
