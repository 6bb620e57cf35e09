"""The effect runner of rounds: performs the effects of the round machine and of secure aggregation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from backend.errors import OrderError
from backend.numerics.vectors import Vector
from backend.protocols.rounds import round_effects
from backend.protocols.rounds.phases import RoundPhase
from backend.protocols.secagg import server_effects
from backend.protocols.secagg.masked_groups import MaskedGroups
from backend.server.hosting import task_frames
from backend.server.observers import task_events
from backend.server.rounds.aggregation_jobs import AggregationJobs
from backend.server.rounds.group_sums import GroupSums
from backend.server.rounds.masked_sum import masking_of
from backend.server.rounds.reputations import UncountedNotice, uncounted_notice
from backend.server.rounds.round_accumulator import RoundAccumulator
from backend.server.rounds.round_host_events import RollbackRequested
from backend.server.rounds.state import Effect, RoundState
from backend.stores.contracts import EvaluationRecord
from backend.wire import messages


class RoundEffectRunner:
    """Performs effects immediately, or by starting a job."""

    def __init__(self, state: RoundState, jobs: AggregationJobs) -> None:
        self._state = state
        self._jobs = jobs

    def perform(self, effects: Iterable[Effect], now: float) -> None:
        """Performs `effects` in their order."""
        for effect in effects:
            match effect:
                case server_effects.Tell():
                    self._state.connected.tell(effect.client, effect.frame)
                case server_effects.TellAll():
                    self._state.connected.tell_some(effect.clients, effect.frame)
                case server_effects.Exclude():
                    self._exclude(effect, now)
                case server_effects.IgnoreReveal():
                    number, reason = self._state.machine.round, str(effect.error)
                    self._state.notice(task_events.ClientDistrusted(effect.client, number, reason))
                case server_effects.Recover():
                    self._jobs.unmask(self._state.accumulator, effect)
                case server_effects.UseSums():
                    self._jobs.make_version(self._state.accumulator, self._state.accumulator.seconds)
                case server_effects.LoseGroup():
                    self._lose_group(effect, now)
                case server_effects.FailMaskedRound():
                    self._fail(effect, now)
                case round_effects.AnnounceRound():
                    self._open_accumulator(effect, now)
                case round_effects.SendRoundTrain():
                    self._state.connected.tell(effect.client, self._train(effect))
                case round_effects.SendEvaluate():
                    weights = self._state.history.current.weights
                    self._state.connected.tell(
                        effect.client, task_frames.evaluate(self._state.task, effect, weights)
                    )
                case round_effects.RecordEvaluation():
                    self._record_evaluation(effect)
                case round_effects.GrantUpload():
                    masked = self._state.masked is not None
                    credits = self._state.uploads.grant(effect.client, effect.offer, now, masked)
                    self._state.connected.tell_credits(credits)
                case round_effects.Accept():
                    self._accept(effect)
                case round_effects.RefuseUpdate():
                    self._refuse(effect, now)
                case round_effects.Aggregate():
                    self._aggregate(effect, now)
                case round_effects.Restore():
                    self._jobs.restore(effect.round)
                case round_effects.Abandon():
                    self._abandon(effect, now)
                case round_effects.Finished():
                    self._state.rest()
                    self._state.notice(task_events.TaskFinished(effect.version, effect.reason))

    def _open_accumulator(self, opened: round_effects.AnnounceRound, now: float) -> None:
        refused, cohort = self._state.accumulator.later, len(opened.cohort)
        self._state.connected.forget_absent(keep=refused.clients)
        changes = self._state.history.control_changes()
        masked = self._open_masked(opened, now) if opened.aggregation == "masked" else None
        # The sum of an only group needs no mean of sums.
        size, most = (self._state.size, cohort) if not masked else (0, 0)
        if len(opened.groups) > 1:
            size, most = self._state.size, len(opened.groups)
        self._state.accumulator = RoundAccumulator(
            self._state.mean(size, most),
            opened.round,
            opened.version,
            cohort,
            now,
            refused=refused,
            changes=changes,
            masked=masked,
            groups=opened.groups,
            private=self._state.task.file.privacy is not None,
            kept=self._state.kept,
            sketches=self._state.sketches(is_masked=masked is not None),
        )
        self._state.machine.took_part(self._state.taken)
        self._state.notice(task_events.RoundOpened(opened.round, opened.version, cohort))

    def _open_masked(self, opened: round_effects.AnnounceRound, now: float) -> GroupSums:
        """Starts the machine of secure aggregation beside the round machine."""
        clients, robust = self._state.connected.clients, self._state.task.file.security.robust
        minima = {client: clients[client].min_masked for client in opened.cohort if client in clients}
        masking, terms = masking_of(self._state.task, opened, self._state.history.current.weights)
        self._state.masked = MaskedGroups(
            terms,
            opened.groups,
            opened.seconds,
            now,
            minima,
            self._state.task.file.coordination.grace,
            least=robust.least if robust else 1,
            resumed=opened.version == self._state.resumed,
        )
        return GroupSums.empty(masking, terms, len(opened.groups))

    def _exclude(self, exclude: server_effects.Exclude, now: float) -> None:
        number = self._state.accumulator.round
        if exclude.awaits_version:
            self._state.machine.version_awaited(exclude.client)
        self.perform(self._state.machine.member_excluded(exclude.client, number, exclude.error, now), now)

    def _fail(self, fail: server_effects.FailMaskedRound, now: float) -> None:
        """Ends the round in any phase, and keeps out whose shares are the reason."""
        for client in fail.false_sharers:
            self.perform(self._state.machine.shared_falsely(client, now), now)
        if self._state.machine.phase is RoundPhase.AGGREGATING:
            self.perform(self._state.machine.aggregation_failed(fail.reason, now), now)
        else:
            self.perform(self._state.machine.training_failed(fail.round, fail.reason, now), now)

    def _lose_group(self, lost: server_effects.LoseGroup, now: float) -> None:
        """Continues without a group, and keeps out whose shares are the reason."""
        self._state.notice(task_events.GroupLost(lost.round, lost.group, len(lost.clients), lost.reason))
        for client in lost.false_sharers:
            self.perform(self._state.machine.shared_falsely(client, now), now)

    def _aggregate(self, ended: round_effects.Aggregate, now: float) -> None:
        """Makes a version from the accepted updates; in a masked round the masks are removed first."""
        accumulator = self._state.accumulator
        accumulator.end(now - accumulator.opened, ended.false_updates)
        if self._state.masked is None:
            self._jobs.make_version(accumulator, accumulator.seconds)
        else:
            self.perform(self._state.masked.inputs_over(now), now)

    def _train(self, order: round_effects.SendRoundTrain) -> messages.Train:
        history, masked = self._state.history, self._state.accumulator.masked
        weights, masking = history.current.weights, masked.masking if masked else None
        return task_frames.train(self._state.task, order, weights, history.control_at, masking)

    def _record_evaluation(self, measured: round_effects.RecordEvaluation) -> None:
        self._jobs.record_evaluation(
            EvaluationRecord(measured.version, measured.loss, measured.metrics, "clients", measured.examples)
        )

    def _accept(self, accept: round_effects.Accept) -> None:
        offer, accumulator = accept.offer, self._state.accumulator
        if not accept.counts:
            self._check_only(accept)
            return
        notice = self._consider_reputation(accept.client)
        self._jobs.add(accept.client, offer, self._adding(accept, self._state.checked.pop(accept.client)))
        accumulator.accepted[accept.client] = offer
        self._state.connected.tell(accept.client, _accepted(offer, notice))
        self._state.notice(task_events.UpdateAccepted(accept.client, offer.round, offer.examples))

    def _consider_reputation(self, client: str) -> UncountedNotice | None:
        """Sets the factor of an update's weight. Returns for its client why it does not count, if so."""
        book = self._state.book
        if book is None:
            return None
        suspect = book.suspect(client)
        self._state.accumulator.factors[client] = suspect.suspicion.weight
        return uncounted_notice(suspect, book.rules)

    def _check_only(self, accept: round_effects.Accept) -> None:
        """Takes note of a newcomer's update, which is not added: its buffer is free already."""
        client, number = accept.client, accept.offer.round
        self._state.accumulator.checked.append(self._state.machine.probation.identity(client))
        self._state.connected.tell(client, messages.Accepted(round=number, examples=0, counted=False))
        self._state.notice(task_events.UpdateChecked(client, number))

    def _adding(self, accept: round_effects.Accept, update: Vector | memoryview) -> Callable[[], None]:
        """Returns the function that adds an accepted update to the aggregate."""
        accumulator = self._state.accumulator
        if not isinstance(update, memoryview):
            return lambda: accumulator.add(update, accept.offer, accept.client)
        masked, group = self._state.masked, 0
        if masked is not None:
            masked.input_accepted(accept.client)
            group = masked.group_of(accept.client)
        return lambda: accumulator.add_masked(group, update)

    def _refuse(self, refuse: round_effects.RefuseUpdate, now: float) -> None:
        if self._state.uploads.receiving(refuse.client):
            self._state.connected.tell_credits(self._state.uploads.drop(refuse.client, now))
        code, reason = refuse.error.code, str(refuse.error)[:500]
        self._state.accumulator.refuse(refuse.client, code)
        if self._state.book is not None:
            self._state.book.update_refused(refuse.client, code)
        self._state.connected.tell(
            refuse.client, messages.Refused(round=refuse.round, code=code, reason=reason)
        )
        self._state.notice(task_events.UpdateRefused(refuse.client, refuse.round, code, reason))

    def _abandon(self, abandon: round_effects.Abandon, now: float) -> None:
        reason, masked = abandon.reason[:500], self._state.masked
        self._state.rest()
        self._state.masked = None
        self._state.connected.tell_all(messages.Abandoned(round=abandon.round, reason=reason))
        self._jobs.record_abandoned(self._state.accumulator, reason, now - self._state.accumulator.opened)
        if masked is not None and (spent := masked.spent_reason()):
            self._repeat_version(abandon.round, spent, now)

    def _repeat_version(self, number: int, spent: str, now: float) -> None:
        """Makes the current version the next one, after masked round `number` failed and it is `spent`.

        Clients reveal shares once for a version, so that no further round of this one would have them.
        """
        version = self._state.history.current.version
        reason = (
            f"Version {version + 1} equals version {version}: round {number} failed after {spent}, "
            "which each does once for a version."
        )
        with suppress(OrderError):  # The task is finished.
            effects = self._state.machine.restore_requested(reason, now)
            self._state.restoring = RollbackRequested(self._state.history.current_version(), reason)
            self.perform(effects, now)


def _accepted(offer: messages.Offer, notice: UncountedNotice | None) -> messages.Accepted:
    """Returns the answer to an accepted update; with a `notice` it does not count."""
    if notice is None:
        return messages.Accepted(round=offer.round, examples=offer.examples)
    return messages.Accepted(
        round=offer.round,
        examples=offer.examples,
        counted=False,
        reason=notice.reason[:500],
        code=notice.code,
        found=list(notice.found),
        rounds=notice.rounds,
    )
