"""A member of the cohort: its work in the open round, and the checks of the update that it offers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from backend.errors import (
    BadExamplesError,
    DuplicateError,
    NormTooLargeError,
    NotFiniteError,
    NotSelectedError,
    StaleRoundError,
    UpdateRefusedError,
    WrongLengthError,
)
from backend.protocols.rounds.deadline import PlannedWork
from backend.protocols.rounds.plan import RoundPlan
from backend.wire.messages import Aggregation, Offer


class CohortStage(StrEnum):
    """How far a member of the open round is."""

    TRAINING = "training"
    SENDING = "sending"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    GONE = "gone"


OUTSTANDING = frozenset({CohortStage.TRAINING, CohortStage.SENDING})
# Faults of an update itself; other refusals concern its time or its sender.
FALSE_UPDATE = (NotFiniteError, NormTooLargeError, WrongLengthError, BadExamplesError)


@dataclass
class CohortMember:
    """One client in the open round; `work` is the most that its plan asks for.

    `household` is the network by which it was selected, also after it left. `sent_false_update` says whether
    its update was refused for a fault of its own. The update of a `newcomer` is checked and does not count.
    """

    shards: tuple[int, ...]
    seed: int
    work: PlannedWork
    household: str = ""
    newcomer: bool = False
    standing: CohortStage = CohortStage.TRAINING
    lost_at: float | None = None
    offer: Offer | None = None
    sent_false_update: bool = False

    @property
    def outstanding(self) -> bool:
        """Whether the round waits for it."""
        return self.standing in OUTSTANDING

    def refuse(self, error: UpdateRefusedError) -> None:
        """Notes that its update of this round is refused: it sends no other."""
        self.standing = CohortStage.REFUSED
        self.sent_false_update = isinstance(error, FALSE_UPDATE)


def not_selected(round_number: int) -> UpdateRefusedError:
    """Refuses the offer of a client that is not in the round."""
    return NotSelectedError(f"You are not in round {round_number}. Wait for the next one.")


def objection(
    member: CohortMember, offer: Offer, version: int, plan: RoundPlan, aggregation: Aggregation
) -> UpdateRefusedError | None:
    """Returns why a member's offer in the open round is refused; None if it is not."""
    if member.standing is CohortStage.GONE:
        return not_selected(offer.round)
    if member.standing is not CohortStage.TRAINING:
        return DuplicateError(f"Your update of round {offer.round} was already offered; only one counts.")
    if offer.version != version:
        return StaleRoundError(
            f"Round {offer.round} trains version {version}, not {offer.version}. Load that version."
        )
    if aggregation == "masked":
        return _reveals(offer) or _wrong_size(offer, plan.masked_bytes)
    return (
        too_much(member.work, offer.examples, offer.steps)
        or _wrong_size(offer, plan.update_bytes)
        or _wrong_rows(offer, plan)
    )


def _reveals(offer: Offer) -> UpdateRefusedError | None:
    """Refuses metadata beside a masked update, which contains examples, loss and sums under the mask."""
    if not (offer.examples or offer.steps or offer.loss or offer.sums):
        return None
    return BadExamplesError(
        f"Round {offer.round} is masked: its offers must not describe updates. Send 0 for examples, steps "
        f"and loss, and no sums."
    )


def too_much(work: PlannedWork, examples: int, steps: int) -> UpdateRefusedError | None:
    """Refuses numbers of examples or steps that a client with this `work` cannot have trained."""
    if not 1 <= examples <= work.examples:
        return BadExamplesError(
            f"{examples} examples are impossible: your plan allows 1 to {work.examples}. Count the examples "
            f"that were trained on."
        )
    if not 1 <= steps <= work.steps:
        return BadExamplesError(f"{steps} steps are impossible: your plan allows 1 to {work.steps}.")
    return None


def wrong_sums(count: int, rows: int) -> UpdateRefusedError | None:
    """Refuses a number of metric sums other than the task's `rows`."""
    if count != rows:
        return WrongLengthError(
            f"There are {count} metric sums; this task's are {rows}. Load the task's bundle again."
        )
    return None


def _wrong_size(offer: Offer, size: int) -> UpdateRefusedError | None:
    if offer.size != size:
        return WrongLengthError(
            f"The update has {offer.size} bytes; this model's has {size}. Load the task's bundle again."
        )
    return None


def _wrong_rows(offer: Offer, plan: RoundPlan) -> UpdateRefusedError | None:
    return wrong_sums(len(offer.sums), 0 if plan.withheld else plan.metric_rows)
