"""Synchronous federated rounds of one task, as a machine without I/O (McMahan et al. 2017, algorithm 1).

    WAITING ── enough clients ready ──> GATHERING ── gather seconds ──> TRAINING
       ^                                                                   │ wanted updates accepted,
       │                                                                   │ all reported, or deadline
       ├────────────── quorum missed: Abandon ─────────────────────────────┤
       └── EVALUATING, where clients measure <── version made ── AGGREGATING   FINISHED by rounds or rules

Its host owns sockets, clock and arithmetic: it reports events with `now` (seconds of any steady clock),
performs the effects they return, and calls `time_passed` at `timer()`. An event that does not fit raises
IllegalEventError (the host's mistake) or returns Refuse (the client's), and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from backend.errors import StaleRoundError, UpdateRefusedError
from backend.protocols.assignment import Dealer
from backend.protocols.cohort import Cohort, open_cohort
from backend.protocols.deadline import Speeds
from backend.protocols.effects import (
    Abandon,
    Accept,
    Aggregate,
    Check,
    ClientId,
    Effect,
    Finished,
    Grant,
    Refuse,
)
from backend.protocols.measuring import Measuring, open_measuring
from backend.protocols.member import Member, Standing, stranger
from backend.protocols.phases import RETRY_SECONDS, TRANSITIONS, IllegalEventError, Phase
from backend.protocols.plan import Plan
from backend.protocols.roster import Roster
from backend.protocols.stopping import Progress, Source
from backend.wire.messages import Evaluation, Offer, Status


class Round:
    """The rounds of one task, one after the other.

    `number` and `version` are the last of an earlier run of the server, `progress` what its stop rules saw
    and `past` how often each client took part.
    """

    def __init__(
        self,
        plan: Plan,
        number: int = 0,
        version: int = 0,
        progress: Progress | None = None,
        past: Mapping[ClientId, int] | None = None,
    ) -> None:
        self.plan = plan
        self.round = number
        self.version = version
        self.roster = Roster(plan.own_data, past or {})
        self.cohort: Cohort | None = None
        self.measuring: Measuring | None = None
        self._progress = progress or Progress(plan.stop)
        self._speeds = Speeds()
        self._dealer = _dealer(plan)
        self._gathered = 0.0
        self._stop: str | None = None
        self.phase = Phase.FINISHED if self.reason_to_finish() else Phase.WAITING

    # What the host asks.

    def timer(self) -> float | None:
        """When `time_passed` is due; None while only an event can change anything."""
        if self.phase is Phase.GATHERING:
            return self._gathered
        if self.phase is Phase.TRAINING and self.cohort:
            return self.cohort.timer()
        return self.measuring.timer() if self.measuring else None

    def deadline(self) -> float | None:
        """When the open round or evaluation ends at the latest."""
        if self.phase is Phase.TRAINING and self.cohort:
            return self.cohort.until
        return self.measuring.until if self.measuring else None

    def needed(self) -> int:
        """How many more clients must be ready before a round opens."""
        return max(0, self.plan.min_available_clients - self.roster.available)

    def reports(self) -> tuple[int, int]:
        """How many were asked in the open round or evaluation, and how many of them are done."""
        if self.measuring:
            return len(self.measuring.asked), len(self.measuring.asked) - len(self.measuring.outstanding())
        return (len(self.cohort.members), self.cohort.reported()) if self.cohort else (0, 0)

    def status(self, client: ClientId) -> Status:
        """What a connected client does, in the wire's word."""
        if self.measuring and self.measuring.awaits(client):
            return "evaluating"
        member = self.cohort.members.get(client) if self.cohort else None
        if member is None or member.standing is Standing.GONE:
            return "ready" if self.roster.is_ready(client) else "loading"
        if member.standing is Standing.ACCEPTED:
            return "reported"
        return "refused" if member.standing is Standing.REFUSED else "training"

    def reason_to_finish(self) -> str | None:
        """Why there are no more rounds, for people; None while there are."""
        if self.version >= self.plan.rounds:
            return "All rounds are done."
        return self._stop or self._progress.reason()

    # Clients come and go.

    def client_joined(self, client: ClientId) -> list[Effect]:
        """A client said hello. One that lost its connection within the open round is a member still."""
        self.roster.join(client)
        if self.cohort and client in self.cohort.members:
            self.cohort.members[client].lost_at = None
        if self.measuring and client in self.measuring.asked:
            self.measuring.asked[client].lost_at = None
        return []

    def client_ready(
        self, client: ClientId, now: float, step_ms: float = 0.0, examples: int = 0
    ) -> list[Effect]:
        """A client may be selected. One that still owes its part of what is open is told it again.

        Where clients train on their own `examples`, one that has none is not selected.
        """
        present = self.roster[client]
        present.step_ms, present.examples = max(0.0, step_ms), examples
        self.roster.ready(client)
        member = self._member(client, self.round)
        if self.cohort and member and member.standing is Standing.TRAINING:
            return [self.cohort.order(client, now)]
        if self.measuring and self.measuring.awaits(client):
            return [self.measuring.question(client, now)]
        self._scatter()
        return self._gather(now)

    def client_left(self, client: ClientId, now: float, lost: bool) -> list[Effect]:
        """A client stopped, or its connection was lost and it may come back."""
        _ = self.roster[client]
        self.roster.leave(client)
        if self.cohort:
            self.cohort.left(client, now, lost)
        if self.measuring:
            self.measuring.left(client, now, lost)
        self._scatter()
        return self._settle(now)

    # Updates.

    def update_offered(self, client: ClientId, offer: Offer, now: float) -> list[Effect]:
        """A client has an update. The answer is Grant, or Refuse with the reason."""
        _ = self.roster[client]
        member = self._member(client, offer.round)
        if member is None or self.cohort is None:
            # It is done with whatever it worked on, and free for the next round.
            self.roster.ready(client)
            return [Refuse(client, offer.round, self._outside(offer)), *self._gather(now)]
        error = self.cohort.objection(client, offer, self.plan)
        if error is None:
            member.standing, member.offer = Standing.SENDING, offer
            self.roster.ready(client)
            return [Grant(client, offer)]
        if member.standing is Standing.TRAINING:
            member.standing = Standing.REFUSED
        return [Refuse(client, offer.round, error), *self._settle(now)]

    def update_arrived(self, client: ClientId, number: int, now: float) -> list[Effect]:
        """The last byte of a granted update of round `number` came."""
        member = self._member(client, number)
        if self.cohort is None or number != self.round or self.phase is not Phase.TRAINING:
            return []
        if member is None or member.standing is not Standing.SENDING or member.offer is None:
            raise IllegalEventError(f"Client {client} was not sending.")
        member.standing = Standing.CHECKING
        self._speeds.delivered(client, member.offer.examples, now - self.cohort.opened)
        return [Check(client, member.offer)]

    def update_failed(
        self, client: ClientId, number: int, error: UpdateRefusedError, now: float
    ) -> list[Effect]:
        """The granted update was sent wrongly, or its values were found bad."""
        member = self._member(client, number)
        if member is None or member.standing not in (Standing.SENDING, Standing.CHECKING):
            return []
        member.standing = Standing.REFUSED
        return [Refuse(client, number, error), *self._settle(now)]

    def update_checked(self, client: ClientId, number: int, now: float) -> list[Effect]:
        """The update's values are good. It counts if its round is still open (else it was refused before)."""
        member = self._member(client, number)
        if member is None or member.standing is not Standing.CHECKING or member.offer is None:
            return []
        member.standing = Standing.ACCEPTED
        return [Accept(client, member.offer), *self._settle(now)]

    # Evaluation, and reasons to stop.

    def evaluation_arrived(self, client: ClientId, report: Evaluation, now: float) -> list[Effect]:
        """A client measured what it was asked to. An answer that nobody awaits is a sign of life only."""
        self.roster.ready(client)
        if self.measuring and self.measuring.answered(client, report, self.plan.metric_rows):
            return self._settle(now)
        return self._gather(now)

    def version_evaluated(
        self, version: int, source: Source, loss: float, metrics: Mapping[str, float]
    ) -> list[Effect]:
        """A version was measured, which may be a reason to stop. An open round still ends as it would."""
        self._progress.measured(version, source, loss, metrics)
        return self._stop_now()

    def stop_requested(self, reason: str) -> list[Effect]:
        """The owner has enough. An open round still ends as it would."""
        self._stop = reason
        return self._stop_now()

    # Time and the aggregate.

    def time_passed(self, now: float) -> list[Effect]:
        """The clock reached `timer()` (or any other time: then nothing happens)."""
        if self.phase is Phase.GATHERING and now >= self._gathered:
            return self._open(now)
        return self._settle(now)

    def aggregated(self, version: int, now: float) -> list[Effect]:
        """The host made and recorded `version`."""
        if self.phase is not Phase.AGGREGATING or version != self.version + 1:
            raise IllegalEventError(f"Version {version} was not asked for.")
        self.version, self._speeds.failed = version, False
        seconds = self._close(self.cohort.ended if self.cohort else now)
        if not self.plan.measures(version) or not self.roster.available:
            return self._go_on(now)
        self._enter(Phase.EVALUATING)
        measuring = open_measuring(self.plan, self.roster, self.round, version, seconds, now)
        self.measuring = measuring
        return [measuring.question(client, now) for client in measuring.asked]

    def aggregation_failed(self, reason: str, now: float) -> list[Effect]:
        """The host could not make or record the version; the round counts for nothing."""
        if self.phase is not Phase.AGGREGATING:
            raise IllegalEventError("No aggregate was asked for.")
        return self._abandon(reason, now)

    # Inside.

    def _member(self, client: ClientId, number: int) -> Member | None:
        """`client` as a member of round `number`, if that is open."""
        if self.cohort is None or self.phase is not Phase.TRAINING or number != self.round:
            return None
        return self.cohort.members.get(client)

    def _outside(self, offer: Offer) -> UpdateRefusedError:
        if self.phase is Phase.TRAINING and offer.round == self.round:
            return stranger(offer.round)
        return StaleRoundError(f"Round {offer.round} is not open (any more). Wait for the next one.")

    def _enter(self, phase: Phase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise IllegalEventError(f"{self.phase} does not lead to {phase}.")
        self.phase = phase

    def _gather(self, now: float) -> list[Effect]:
        if self.phase is not Phase.WAITING or self.needed():
            return []
        if not self.plan.gather:
            return self._open(now)
        self._enter(Phase.GATHERING)
        self._gathered = now + self.plan.gather
        return []

    def _scatter(self) -> None:
        """Ends the gathering when too few are left of those who could be chosen."""
        if self.phase is Phase.GATHERING and self.needed():
            self._enter(Phase.WAITING)

    def _open(self, now: float) -> list[Effect]:
        self._enter(Phase.TRAINING)
        self.round += 1
        self.cohort = open_cohort(
            self.plan, self.roster, self._speeds, self._dealer, self.round, self.version, now
        )
        return self.cohort.orders()

    def _settle(self, now: float) -> list[Effect]:
        """Ends what is open when enough is there, nobody is left to wait for, or time is up."""
        timer = self.timer()
        due = timer is not None and now >= timer
        if self.phase is Phase.TRAINING and self.cohort and (due or self.cohort.complete()):
            return self._end(self.cohort, now)
        if self.measuring and (due or not self.measuring.outstanding()):
            return self._conclude(self.measuring, now)
        return []

    def _end(self, cohort: Cohort, now: float) -> list[Effect]:
        refusals = cohort.end(now, self.roster, self._speeds)
        accepted = cohort.accepted()
        if accepted >= self.plan.quorum:
            self._enter(Phase.AGGREGATING)
            return [*refusals, Aggregate(self.round, self.version)]
        reason = f"{accepted} of at least {self.plan.quorum} updates arrived in time."
        return [*refusals, *self._abandon(reason, now)]

    def _abandon(self, reason: str, now: float) -> list[Effect]:
        self._close(now)
        self._speeds.failed = True
        abandoned = Abandon(self.round, reason)
        if self.reason_to_finish():
            return [abandoned, *self._go_on(now)]
        if self.needed():
            self._enter(Phase.WAITING)
        else:
            self._enter(Phase.GATHERING)
            self._gathered = now + max(RETRY_SECONDS, self.plan.gather)
        return [abandoned]

    def _close(self, ended: float) -> float:
        """Forgets the members; how long the round took, as it is recorded."""
        seconds = ended - self.cohort.opened if self.cohort else 0.0
        self.cohort = None
        self._progress.spent += seconds
        return seconds

    def _conclude(self, measuring: Measuring, now: float) -> list[Effect]:
        self.measuring = None
        found = measuring.end(self.plan)
        if found is None:
            return self._go_on(now)
        self._progress.measured(found.version, "clients", found.loss, found.metrics)
        return [found, *self._go_on(now)]

    def _go_on(self, now: float) -> list[Effect]:
        """What follows when a version is made and measured."""
        if reason := self.reason_to_finish():
            self._enter(Phase.FINISHED)
            return [Finished(self.version, reason)]
        if not self.needed():
            return self._open(now)
        self._enter(Phase.WAITING)
        return []

    def _stop_now(self) -> list[Effect]:
        reason = self.reason_to_finish()
        if reason is None or self.phase not in (Phase.WAITING, Phase.GATHERING):
            return []
        self._enter(Phase.FINISHED)
        return [Finished(self.version, reason)]


def _dealer(plan: Plan) -> Dealer | None:
    """Who deals out the task's shards; nobody where clients train on their own examples."""
    if plan.own_data:
        return None
    return Dealer(len(plan.shard_examples), plan.shards_per_client, plan.seed, plan.shard_parts)
