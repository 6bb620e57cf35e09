"""The open evaluation: clients measure a version on held-out examples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain

from backend.numerics.aggregation.update_checks import MAX_REPORTED
from backend.numerics.metrics import metric_values
from backend.protocols.rounds.attendance import Attendance, wanted
from backend.protocols.rounds.phases import waits_until
from backend.protocols.rounds.plan import RoundPlan
from backend.protocols.rounds.round_effects import RecordEvaluation, SendEvaluate
from backend.wire.messages import Evaluation


@dataclass
class AskedClient:
    """One client that was asked; `most_examples` bounds what it may say it measured on."""

    shards: tuple[int, ...]
    most_examples: int
    answered: bool = False
    lost_at: float | None = None


@dataclass
class OpenEvaluation:
    """The evaluation of `version` after round `number`. Owned by the machine of the rounds.

    Who lost its connection may come back within `grace` seconds.
    """

    number: int
    version: int
    until: float
    asked: dict[str, AskedClient]
    grace: float
    reports: list[Evaluation] = field(default_factory=list)

    def timer(self) -> float:
        """When it is over at the latest."""
        lost = (one.lost_at for one in self.asked.values() if not one.answered)
        return waits_until(self.until, lost, self.grace)

    def outstanding(self) -> list[str]:
        """Who has not answered."""
        return [client for client, one in self.asked.items() if not one.answered]

    def awaits(self, client: str) -> bool:
        """Whether `client` has not answered yet."""
        return client in self.asked and not self.asked[client].answered

    def question(self, client: str, now: float) -> SendEvaluate:
        """What a client is to do in the time that is left."""
        seconds = max(0.0, self.until - now)
        return SendEvaluate(client, self.number, self.version, self.asked[client].shards, seconds)

    def answered(self, client: str, report: Evaluation, rows: int) -> bool:
        """Takes an answer in; whether it was awaited. One that cannot be true counts for nothing."""
        if not self.awaits(client) or report.version != self.version:
            return False
        asked = self.asked[client]
        asked.answered = True
        if 0 < report.examples <= asked.most_examples and len(report.sums) == rows and _sound(report):
            self.reports.append(report)
        return True

    def returned(self, client: str) -> None:
        """A client is connected (again)."""
        if client in self.asked:
            self.asked[client].lost_at = None

    def left(self, client: str, now: float, lost: bool) -> None:
        """A client stopped, or its connection was lost."""
        if self.awaits(client):
            self.asked[client].lost_at, self.asked[client].answered = now, not lost

    def end(self, plan: RoundPlan) -> RecordEvaluation | None:
        """What was found, if anything. Who did not answer stays as it is.

        It may be slow to measure and good at training: there its silence is noted, and it says that it is
        ready again, which it does not after an evaluation.
        """
        examples = sum(report.examples for report in self.reports)
        if not examples:
            return None
        loss = math.fsum(report.loss * report.examples for report in self.reports) / examples
        metrics = metric_values(plan.metrics, [report.sums for report in self.reports])
        return RecordEvaluation(self.version, loss, metrics, examples, len(self.reports))


def open_measuring(
    plan: RoundPlan, attendance: Attendance, number: int, version: int, seconds: float, now: float
) -> OpenEvaluation:
    """Chooses who measures `version`, and on what, within the `seconds` that the round took.

    Who fetched, trained and sent in that time fetches and measures in it.
    """
    count = wanted(attendance.available, plan.fraction_evaluate, plan.min_evaluate_clients)
    if plan.holdout_examples:
        count = min(count, len(plan.holdout_examples))
    clients = attendance.choose(count, f"{plan.seed}/evaluate/{number}")
    until = now + min(plan.deadline, max(plan.min_deadline, seconds))
    return OpenEvaluation(number, version, until, _measurers(clients, plan, attendance), plan.grace)


def _measurers(clients: tuple[str, ...], plan: RoundPlan, attendance: Attendance) -> dict[str, AskedClient]:
    sizes = plan.holdout_examples
    if not sizes:
        # Clients hold out less than what they train on.
        return {client: AskedClient((), max(1, attendance[client].examples)) for client in clients}
    parts = {client: tuple(range(at, len(sizes), len(clients))) for at, client in enumerate(clients)}
    return {client: AskedClient(part, sum(sizes[shard] for shard in part)) for client, part in parts.items()}


def _sound(report: Evaluation) -> bool:
    return all(abs(value) <= MAX_REPORTED for value in (report.loss, *chain.from_iterable(report.sums)))
