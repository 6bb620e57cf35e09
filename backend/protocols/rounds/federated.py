"""Synchronous federated rounds of one task, as a machine without I/O (McMahan et al. 2017, algorithm 1).

    WAITING ── enough clients ready ──> GATHERING ── gather seconds ──> TRAINING
       ^                                                                   │ wanted updates accepted,
       │                                                                   │ all reported, or deadline
       ├────────────── quorum missed: Abandon ─────────────────────────────┤
       └── EVALUATING, where clients measure <── version made ── AGGREGATING   FINISHED by rounds or rules

    PAUSED, instead of WAITING, TRAINING or GATHERING, as long as the owner wants no round to open.

Its host owns sockets, clock and arithmetic: it reports events with `now` (seconds of any steady clock),
performs the effects they return, and calls `time_passed` at `timer()`. An event that does not fit raises
IllegalEventError (the host's mistake) or returns Refuse (the client's), and changes nothing.
"""

from __future__ import annotations

from backend.errors import FalseSharesError, OrderError, StaleRoundError, UpdateRefusedError
from backend.protocols.rounds.base import Rounds
from backend.protocols.rounds.cohort import Cohort, open_cohort
from backend.protocols.rounds.cohort_member import CohortMember, CohortStage, not_selected
from backend.protocols.rounds.phases import IllegalEventError, RoundPhase
from backend.protocols.rounds.round_effects import (
    Accept,
    Aggregate,
    ClientId,
    Effect,
    Finished,
    GrantUpload,
    RefuseUpdate,
    Restore,
)
from backend.wire.messages import Offer


class Round(Rounds[Cohort, Effect]):
    """Runs the rounds of one task whose clients send their updates to the server."""

    def needed(self) -> int:
        """The number of clients that are missing before a round opens."""
        available = max(map(self.attendance.available_for, self.plan.aggregation)) + self.attendance.newcomers
        return max(0, self.plan.min_available_clients - available)

    # Updates.

    def update_offered(self, client: ClientId, offer: Offer, now: float) -> list[Effect]:
        """Grants the upload of an update that a client offers, or refuses it with the reason."""
        _ = self.attendance[client]
        member = self._member(client, offer.round)
        if member is None or self.open is None:
            # The client finished its work, so it is free for the next round.
            self.attendance.ready(client)
            return [RefuseUpdate(client, offer.round, self._not_open(offer)), *self._gather(now)]
        error = self.open.objection(client, offer, self.plan)
        if error is None:
            member.standing, member.offer = CohortStage.SENDING, offer
            self.attendance.ready(client)
            return [GrantUpload(client, offer)]
        if member.standing is CohortStage.TRAINING:
            member.refuse(error)
        return [RefuseUpdate(client, offer.round, error), *self._settle(now)]

    def update_arrived(
        self, client: ClientId, number: int, now: float, fault: UpdateRefusedError | None = None
    ) -> list[Effect]:
        """Accepts a complete update of round `number`, if the round is still open.

        The host checked its values: `fault` is the error that it found.
        """
        member = self._member(client, number)
        if self.open is None or number != self.round or self.phase is not RoundPhase.TRAINING:
            return []
        if member is None or member.standing is not CohortStage.SENDING or member.offer is None:
            raise IllegalEventError(f"Client {client} was not sending.")
        # A masked offer has no number of examples: assume that the client did all its work.
        examples = member.offer.examples or member.work.examples
        # After an abandoned round clients send what they trained before, which does not measure their speed.
        if not self._speeds.failed:
            self._speeds.delivered(client, examples, now - self.open.opened)
        if fault is not None:
            return self.update_failed(client, number, fault, now)
        member.standing = CohortStage.ACCEPTED
        if member.newcomer:
            for promoted in self.probation.checked(client, number):
                self.attendance.promote(promoted)
        return [Accept(client, member.offer, counts=not member.newcomer), *self._settle(now)]

    def update_failed(
        self, client: ClientId, number: int, error: UpdateRefusedError, now: float
    ) -> list[Effect]:
        """Refuses a granted update that was sent wrongly, or whose values are bad."""
        member = self._member(client, number)
        if member is None or member.standing is not CohortStage.SENDING:
            return []
        member.refuse(error)
        return [RefuseUpdate(client, number, error), *self._settle(now)]

    # Masked rounds.

    def member_excluded(
        self, client: ClientId, number: int, error: UpdateRefusedError, now: float
    ) -> list[Effect]:
        """Excludes a member of a masked round whose update cannot be accepted any more."""
        member = self._member(client, number)
        if member is None or not member.outstanding:
            return []
        member.refuse(error)
        return [RefuseUpdate(client, number, error), *self._settle(now)]

    def shared_falsely(self, client: ClientId, now: float) -> list[Effect]:
        """Keeps a member out whose shares kept the open round's sum from being unmasked."""
        member = self._open_member(client)
        seconds = self.exclusions.add(client, self.plan.deadline, now)
        self.attendance.keep_out(client, member.household)
        error = FalseSharesError(
            f"Shares from your device prevented round {self.round} from being unmasked. It may take part "
            f"again in {seconds / 60:.0f} minutes; use the newest, unmodified program."
        )
        return [RefuseUpdate(client, self.round, error)]

    def version_awaited(self, client: ClientId) -> None:
        """Keeps a member out until the next version: it takes no part in further sums of this one."""
        member = self._open_member(client)
        self.exclusions.await_version(client)
        self.attendance.keep_out(client, member.household)

    def training_failed(self, number: int, reason: str, now: float) -> list[Effect]:
        """Abandons open round `number`, because its updates could never be unmasked."""
        if self.open is None or number != self.round or self.phase is not RoundPhase.TRAINING:
            return []
        refusals = self.open.end(now, self.attendance, self._speeds)
        return [*refusals, *self._abandon(reason, now)]

    def cut_short(self, reason: str, now: float) -> list[Effect]:
        """See Rounds."""
        return self.training_failed(self.round, reason, now)

    def took_part(self, participations: int) -> None:
        """Sets the number of rounds of the client that took part in most, which a stop rule may bound."""
        self._progress.participations = participations

    # The aggregate.

    def aggregated(self, version: int, now: float, repeats: int = 0) -> list[Effect]:
        """Continues after the host recorded `version`; so far `repeats` versions equal the one before.

        Raises IllegalEventError when it was not requested.
        """
        if self.phase is not RoundPhase.AGGREGATING or version != self.version + 1:
            raise IllegalEventError(f"Version {version} was not requested.")
        self.repeats = repeats
        seconds = self.open.ended - self.open.opened if self.open else 0.0
        return self._version_made(version, seconds, now)

    def aggregation_failed(self, reason: str, now: float) -> list[Effect]:
        """Abandons the round, because the host could not make or record the version."""
        if self.phase is not RoundPhase.AGGREGATING or self.open is None:
            raise IllegalEventError("No aggregate was asked for.")
        return self._abandon(reason, now)

    # An earlier version.

    def restore_requested(self, reason: str, now: float) -> list[Effect]:
        """Makes an earlier version the next one, in a round without members.

        An open round is abandoned for that `reason`; if that finishes the task, nothing else follows. Raises
        OrderError, and changes nothing, while a version is being made, and after the task finished.
        """
        if self.phase is RoundPhase.AGGREGATING:
            raise OrderError("A version is being made at this moment. Ask again in a few seconds.")
        if self.phase is RoundPhase.FINISHED or self.reason_to_finish():
            raise OrderError("This task has finished. Extend it, and continue from that version.")
        effects = self.cut_short(reason, now)
        self.evaluation = None
        if any(isinstance(effect, Finished) for effect in effects):
            return effects
        self._enter(RoundPhase.AGGREGATING)
        self.round += 1
        return [*effects, Restore(self.round)]

    def restoring_failed(self, now: float) -> list[Effect]:
        """Continues after the host could not record the earlier version as the next one."""
        if self.phase is not RoundPhase.AGGREGATING or self.open is not None:
            raise IllegalEventError("No earlier version was asked for.")
        return self._continue(now)

    def _member(self, client: ClientId, number: int) -> CohortMember | None:
        """Returns `client` as a member of round `number`, if that round is open."""
        if self.open is None or self.phase is not RoundPhase.TRAINING or number != self.round:
            return None
        return self.open.members.get(client)

    def _open_member(self, client: ClientId) -> CohortMember:
        """Returns `client` as a member of the open round in any phase."""
        if self.open is None or client not in self.open.members:
            raise IllegalEventError(f"Client {client} is in no open round.")
        return self.open.members[client]

    def _not_open(self, offer: Offer) -> UpdateRefusedError:
        if self.phase is RoundPhase.TRAINING and offer.round == self.round:
            return not_selected(offer.round)
        return StaleRoundError(f"Round {offer.round} is not open (any more). Wait for the next one.")

    def _resend(self, client: ClientId, now: float) -> list[Effect]:
        member = self._member(client, self.round)
        if self.open and member and member.standing is CohortStage.TRAINING:
            return [self.open.train_effect(client, now)]
        return []

    def _begin(self, now: float) -> list[Effect]:
        plan = self.plan
        aggregation = self.attendance.next_aggregation(plan.aggregation, plan.min_available_clients)
        self._enter(RoundPhase.TRAINING)
        self.round += 1
        number, version = self.round, self.version
        self.open = open_cohort(
            plan, self.attendance, self._speeds, self._assigner, aggregation, number, version, now
        )
        return self.open.opening_effects()

    def _settle_open(self, running: Cohort, due: bool, now: float) -> list[Effect]:
        over = self.phase is RoundPhase.TRAINING and (due or running.complete(now))
        return self._end(running, now) if over else []

    def _end(self, cohort: Cohort, now: float) -> list[Effect]:
        refusals = cohort.end(now, self.attendance, self._speeds)
        accepted, false = cohort.accepted(), min(cohort.false_updates(), self.plan.attackers)
        quorum = self.plan.quorum - false
        if accepted >= quorum:
            self._enter(RoundPhase.AGGREGATING)
            return [*refusals, Aggregate(self.round, self.version, false)]
        return [*refusals, *self._abandon(self._too_few(cohort, accepted, quorum), now)]

    def _too_few(self, cohort: Cohort, accepted: int, quorum: int) -> str:
        checked = sum(
            member.newcomer and member.standing is CohortStage.ACCEPTED for member in cohort.members.values()
        )
        if not checked:
            return f"{accepted} of at least {quorum} updates arrived in time."
        return (
            f"{accepted} updates count, of at least {quorum}. {checked} more came from newcomers: "
            f"theirs are checked in {self.plan.probation_rounds} rounds before they count."
        )
