"""What counted last for a peer, of which it makes the next round; `last-round.ts` is the mirror."""

from __future__ import annotations

from dataclasses import dataclass

from backend.protocols.mesh.serverless.plan import MOST_AHEAD, next_evaluation, next_plan
from backend.wire.mesh_messages import Group, ServerToPeer
from backend.wire.messages import Evaluate, State, Train

# Of a round's time, for who measures before it trains.
MEASURING_SHARE = 0.25


@dataclass
class Last:
    """The last `plan`, `order` and `exam` that counted for a peer, whoever gave them. Owned by its machine.

    `number` is the newest round that the peer heard of. Times are in seconds.
    """

    plan: Train | None = None
    order: Group | None = None
    exam: Evaluate | None = None
    number: int = 0

    @property
    def patience(self) -> float:
        """How long peers wait for each other; 0 before the first group."""
        return self.order.patience if self.order else 0.0

    @property
    def seconds(self) -> float:
        """From setting out to the group, at most: who measures has as much time to train as the others."""
        return self.order.seconds * (1 + MEASURING_SHARE) if self.order else 0.0

    def told(self, frame: ServerToPeer) -> None:
        """The server said something."""
        match frame:
            case Train():
                self.plan, self.number = frame, max(self.number, frame.round)
            case State(round=number, phase=phase):
                self.number = max(self.number, number)
                if phase in ("paused", "finished"):
                    # The owner wants no rounds: there are none while the server is away, either.
                    self.plan = None
            case Evaluate():
                self.exam = frame

    def averaged(self, order: Group) -> None:
        """This peer's group `order` has a result."""
        self.order, self.number = order, max(self.number, order.round)

    def leads_to(self, number: int) -> bool:
        """Whether a round of this number is followed."""
        return self.number < number <= self.number + MOST_AHEAD

    def set_out(self, number: int, weights: str) -> None:
        """Round `number` begins from `weights`: its plan is made, where there is something to make it of."""
        self.number = number
        if self.plan and self.order:
            self.plan = next_plan(self.plan, number, weights, self.order.seconds)

    def examine(self) -> Evaluate | None:
        """What measures the weights that the plan begins with; None where that was never asked for."""
        if self.exam and self.plan and self.order:
            self.exam = next_evaluation(self.exam, self.plan, MEASURING_SHARE * self.order.seconds)
        return self.exam
