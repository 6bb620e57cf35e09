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
from backend.protocols.deadline import Work
from backend.protocols.plan import Plan
from backend.wire.messages import Offer


class Standing(StrEnum):
    """How far a member of the open round is."""

    TRAINING = "training"
    SENDING = "sending"
    CHECKING = "checking"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    GONE = "gone"


OUTSTANDING = frozenset({Standing.TRAINING, Standing.SENDING, Standing.CHECKING})


@dataclass
class Member:
    """One client in the open round; `work` is what its plan makes at most."""

    shards: tuple[int, ...]
    seed: int
    work: Work
    standing: Standing = Standing.TRAINING
    lost_at: float | None = None
    offer: Offer | None = None

    @property
    def outstanding(self) -> bool:
        """Whether the round waits for it."""
        return self.standing in OUTSTANDING


def stranger(round_number: int) -> UpdateRefusedError:
    """Why an offer of one who is no member is refused."""
    return NotSelectedError(f"You are not in round {round_number}. Wait for the next one.")


def objection(member: Member, offer: Offer, version: int, plan: Plan) -> UpdateRefusedError | None:
    """Why a member's offer in the open round cannot be taken; None if it can."""
    if member.standing is Standing.GONE:
        return stranger(offer.round)
    if member.standing is not Standing.TRAINING:
        return DuplicateError(f"Your update of round {offer.round} was offered before; one counts.")
    if offer.version != version:
        return StaleRoundError(
            f"Round {offer.round} trains version {version}, not {offer.version}. Load that version."
        )
    return _too_much(member.work, offer) or _misfit(offer, plan)


def _too_much(work: Work, offer: Offer) -> UpdateRefusedError | None:
    if not 1 <= offer.examples <= work.examples:
        return BadExamplesError(
            f"{offer.examples} examples cannot be: your plan makes 1 to {work.examples}. "
            "Count those that were trained on."
        )
    if not 1 <= offer.steps <= work.steps:
        return BadExamplesError(f"{offer.steps} steps cannot be: your plan makes 1 to {work.steps}.")
    return None


def _misfit(offer: Offer, plan: Plan) -> UpdateRefusedError | None:
    if offer.size != plan.update_bytes:
        return WrongLengthError(
            f"The update has {offer.size} bytes; this model's has {plan.update_bytes}. "
            "Load the task's bundle again."
        )
    if len(offer.sums) != plan.metric_rows:
        return WrongLengthError(
            f"The offer has {len(offer.sums)} metric sums; this model's has {plan.metric_rows}. "
            "Load the task's bundle again."
        )
    return None
