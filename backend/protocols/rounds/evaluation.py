"""The open evaluation: clients measure a version on held-out examples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain

from backend.numerics.aggregation.update_checks import MAX_REPORTED
from backend.numerics.metrics import metric_values
from backend.protocols.rounds.attendance import Attendance, target_updates
from backend.protocols.rounds.phases import waits_until
from backend.protocols.rounds.plan import RoundPlan
from backend.protocols.rounds.round_effects import RecordEvaluation, SendEvaluate
from backend.wire.messages import Evaluation


@dataclass
class AskedClient:
    """A client that was asked to evaluate; it may report at most `most_examples`."""

    shards: tuple[int, ...]
    most_examples: int
    answered: bool = False
    lost_at: float | None = None


@dataclass
class OpenEvaluation:
    """Tracks the evaluation of `version` after round `number`. Owned by the round machine.

    A client that lost its connection may come back within `grace` seconds.
    """

    number: int
    version: int
    until: float
    asked: dict[str, AskedClient]
    grace: float
    reports: list[Evaluation] = field(default_factory=list)

    def timer(self) -> float:
        """When the evaluation ends at the latest, given who is connected."""
        lost = (asked.lost_at for asked in self.asked.values() if not asked.answered)
        return waits_until(self.until, lost, self.grace)

    def outstanding(self) -> list[str]:
        """The clients that have not answered."""
        return [client for client, asked in self.asked.items() if not asked.answered]

    def awaits(self, client: str) -> bool:
        """Whether `client` has not answered yet."""
        return client in self.asked and not self.asked[client].answered

    def evaluate_effect(self, client: str, now: float) -> SendEvaluate:
        """Sends a client its part, with the remaining time."""
        seconds = max(0.0, self.until - now)
        return SendEvaluate(client, self.number, self.version, self.asked[client].shards, seconds)

    def answered(self, client: str, report: Evaluation, rows: int) -> bool:
        """Adds an answer, unless it cannot be true, and returns whether it was awaited."""
        if not self.awaits(client) or report.version != self.version:
            return False
        asked = self.asked[client]
        asked.answered = True
        if 0 < report.examples <= asked.most_examples and len(report.sums) == rows and _is_plausible(report):
            self.reports.append(report)
        return True

    def returned(self, client: str) -> None:
        """Notes that a client is connected (again)."""
        if client in self.asked:
            self.asked[client].lost_at = None

    def left(self, client: str, now: float, lost: bool) -> None:
        """Notes that a client stopped, or lost its connection."""
        if self.awaits(client):
            self.asked[client].lost_at, self.asked[client].answered = now, not lost

    def end(self, plan: RoundPlan) -> RecordEvaluation | None:
        """Returns the mean of the reports; None without reports.

        Clients that did not answer stay eligible: they may be slow to evaluate and good at training, and only
        after training do clients say that they are ready again.
        """
        examples = sum(report.examples for report in self.reports)
        if not examples:
            return None
        loss = math.fsum(report.loss * report.examples for report in self.reports) / examples
        metrics = metric_values(plan.metrics, [report.sums for report in self.reports])
        return RecordEvaluation(self.version, loss, metrics, examples, len(self.reports))


def open_evaluation(
    plan: RoundPlan, attendance: Attendance, number: int, version: int, seconds: float, now: float
) -> OpenEvaluation:
    """Selects the clients that evaluate `version` within the `seconds` that the round took.

    That time was enough to load weights, train and send, so it is enough to load weights and evaluate.
    """
    count = target_updates(attendance.available, plan.fraction_evaluate, plan.min_evaluate_clients)
    if plan.holdout_examples:
        count = min(count, len(plan.holdout_examples))
    clients = attendance.select(count, f"evaluate/{number}")
    until = now + min(plan.deadline, max(plan.min_deadline, seconds))
    return OpenEvaluation(number, version, until, _evaluators(clients, plan, attendance), plan.grace)


def _evaluators(clients: tuple[str, ...], plan: RoundPlan, attendance: Attendance) -> dict[str, AskedClient]:
    sizes = plan.holdout_examples
    if not sizes:
        # Clients hold out less than what they train on.
        return {client: AskedClient((), max(1, attendance[client].examples)) for client in clients}
    parts = {client: tuple(range(at, len(sizes), len(clients))) for at, client in enumerate(clients)}
    return {client: AskedClient(part, sum(sizes[shard] for shard in part)) for client, part in parts.items()}


def _is_plausible(report: Evaluation) -> bool:
    return all(abs(value) <= MAX_REPORTED for value in (report.loss, *chain.from_iterable(report.sums)))
