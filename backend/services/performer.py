"""What the machine decides, done."""

from __future__ import annotations

from collections.abc import Iterable

from backend.numerics.aggregate import WeightedMean
from backend.protocols import effects as do
from backend.services import observer as happened
from backend.services.hosted import Hosted
from backend.services.jobs import Jobs
from backend.services.reception import Reception
from backend.services.tally import Tally
from backend.stores.contracts import EvaluationRecord
from backend.wire import messages as say


class Performer:
    """Performs effects: at once, or by starting a job."""

    def __init__(self, hosted: Hosted, jobs: Jobs, reception: Reception) -> None:
        self._at = hosted
        self._reception = reception
        self._jobs = jobs

    def perform(self, effects: Iterable[do.Effect], now: float) -> None:
        """Performs `effects` in their order."""
        for effect in effects:
            match effect:
                case do.Opened():
                    self._open_tally(effect, now)
                case do.SendTrain():
                    self._at.audience.tell(effect.client, self._train(effect))
                case do.SendEvaluate():
                    self._at.audience.tell(effect.client, self._evaluate(effect))
                case do.Measured():
                    self._measured(effect)
                case do.Grant():
                    self._at.audience.tell_credits(self._at.uploads.grant(effect.client, effect.offer, now))
                case do.Check():
                    self.perform(self._reception.complete(effect.client, effect.offer, now), now)
                case do.Accept():
                    self._accept(effect)
                case do.Refuse():
                    self._refuse(effect, now)
                case do.Aggregate():
                    self._jobs.make_version(self._at.tally, now - self._at.tally.opened)
                case do.Abandon():
                    self._abandon(effect, now)
                case do.Finished():
                    self._at.uploads.rest()
                    self._at.notice(happened.TaskFinished(effect.version))

    def _open_tally(self, opened: do.Opened, now: float) -> None:
        refused, cohort = self._at.tally.later, len(opened.cohort)
        self._at.audience.forget_absent(but=refused.clients)
        mean, changes = WeightedMean(self._at.size), self._at.ledger.control_changes()
        self._at.tally = Tally(
            mean, opened.round, opened.version, cohort, now, refused=refused, changes=changes
        )
        self._at.notice(happened.RoundOpened(opened.round, opened.version, cohort))

    def _train(self, order: do.SendTrain) -> say.Train:
        task = self._at.task
        shards = [task.shards.train[number] for number in order.shards]
        return say.Train(
            round=order.round,
            version=order.version,
            weights=self._at.ledger.current.weights,
            epochs=task.epochs,
            steps=task.file.training.steps or 0,
            batch_size=task.batch_size,
            learning_rate=task.learning_rate,
            past_steps=task.past_steps(order.version),
            seed=order.seed,
            proximal_mu=task.file.training.proximal_mu,
            control=self._at.ledger.control_at,
            shards=[say.Shard(sha256=shard.sha256, examples=shard.examples) for shard in shards],
            seconds=order.seconds,
        )

    def _evaluate(self, order: do.SendEvaluate) -> say.Evaluate:
        shards = [self._at.task.shards.measured[number] for number in order.shards]
        return say.Evaluate(
            round=order.round,
            version=order.version,
            weights=self._at.ledger.current.weights,
            shards=[say.Shard(sha256=shard.sha256, examples=shard.examples) for shard in shards],
            seconds=order.seconds,
        )

    def _measured(self, found: do.Measured) -> None:
        self._jobs.record_evaluation(
            EvaluationRecord(found.version, found.loss, found.metrics, "clients", found.examples)
        )

    def _accept(self, accept: do.Accept) -> None:
        offer, tally = accept.offer, self._at.tally
        self._jobs.add(accept.client, offer, tally, self._at.checked.pop(accept.client))
        tally.accepted[accept.client] = offer
        self._at.audience.tell(accept.client, say.Accepted(round=offer.round, examples=offer.examples))
        self._at.notice(happened.UpdateAccepted(accept.client, offer.round, offer.examples))

    def _refuse(self, refuse: do.Refuse, now: float) -> None:
        if self._at.uploads.receiving(refuse.client):
            self._at.audience.tell_credits(self._at.uploads.drop(refuse.client, now))
        code, reason = refuse.error.code, str(refuse.error)[:500]
        self._at.tally.refuse(refuse.client, code)
        self._at.audience.tell(refuse.client, say.Refused(round=refuse.round, code=code, reason=reason))
        self._at.notice(happened.UpdateRefused(refuse.client, refuse.round, code, reason))

    def _abandon(self, abandon: do.Abandon, now: float) -> None:
        reason = abandon.reason[:500]
        self._at.uploads.rest()
        self._at.audience.tell_all(say.Abandoned(round=abandon.round, reason=reason))
        self._jobs.record_abandoned(self._at.tally, reason, now - self._at.tally.opened)
