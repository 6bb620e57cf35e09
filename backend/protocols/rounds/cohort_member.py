"""One client in the open round, and what its offer must be like."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from backend.errors import (
    BadExamplesError,
    DuplicateError,
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


@dataclass
class CohortMember:
    """One client in the open round; `work` is what its plan makes at most."""

    shards: tuple[int, ...]
    seed: int
    work: PlannedWork
    standing: CohortStage = CohortStage.TRAINING
    lost_at: float | None = None
    offer: Offer | None = None

    @property
    def outstanding(self) -> bool:
        """Whether the round waits for it."""
        return self.standing in OUTSTANDING


def stranger(round_number: int) -> UpdateRefusedError:
    """Why an offer of one who is no member is refused."""
    return NotSelectedError(f"You are not in round {round_number}. Wait for the next one.")


def objection(
    member: CohortMember, offer: Offer, version: int, plan: RoundPlan, aggregation: Aggregation
) -> UpdateRefusedError | None:
    """Why a member's offer in the open round cannot be taken; None if it can."""
    if member.standing is CohortStage.GONE:
        return stranger(offer.round)
    if member.standing is not CohortStage.TRAINING:
        return DuplicateError(f"Your update of round {offer.round} was offered before; one counts.")
    if offer.version != version:
        return StaleRoundError(
            f"Round {offer.round} trains version {version}, not {offer.version}. Load that version."
        )
    if aggregation == "masked":
        return _tells(offer) or _wrong_size(offer, plan.masked_bytes)
    return (
        too_much(member.work, offer.examples, offer.steps)
        or _wrong_size(offer, plan.update_bytes)
        or _wrong_rows(offer, plan)
    )


def _tells(offer: Offer) -> UpdateRefusedError | None:
    """A masked update has its examples, loss and sums in it, where nobody sees them."""
    if not (offer.examples or offer.steps or offer.loss or offer.sums):
        return None
    return BadExamplesError(
        f"Round {offer.round} is masked: its offers say nothing of their updates. "
        "Send 0 for examples, steps and loss, and no sums."
    )


def too_much(work: PlannedWork, examples: int, steps: int) -> UpdateRefusedError | None:
    """Why a client that was asked for `work` cannot have trained on so many examples in so many steps."""
    if not 1 <= examples <= work.examples:
        return BadExamplesError(
            f"{examples} examples cannot be: your plan makes 1 to {work.examples}. "
            "Count those that were trained on."
        )
    if not 1 <= steps <= work.steps:
        return BadExamplesError(f"{steps} steps cannot be: your plan makes 1 to {work.steps}.")
    return None


def wrong_sums(count: int, rows: int) -> UpdateRefusedError | None:
    """Why so many metric sums cannot be, where the task's metrics have `rows`."""
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
