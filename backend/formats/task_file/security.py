"""The table [security]: bounds on what one client may do, and how updates are added up."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from backend.formats.task_file.types import Positive, TaskTable
from backend.protocols.secagg.terms import MOST_ACTIVE
from backend.wire.masked_messages import Aggregation, Server

# The roster of a round with more would be longer than a server's frame may be.
MOST_HONEST = 2048


class MaskingTable(TaskTable, frozen=True):
    """How masked rounds add up updates; docs/decisions/0017-masked-rounds.md has the protocol.

    Sums are modulo 2^`bits`. Updates are clipped to the L2 norm `clip` (by default max_update_norm) and count
    by their examples, at most `examples` (by default the most that a plan of the round makes). Each round
    sends the `share` of the parameters, drawn anew; what is not sent waits for the client's next update.
    """

    bits: Literal[16, 17, 18, 19, 20, 21, 22, 23, 24, 32] = 32
    clip: Positive | None = None
    examples: Annotated[int, Meta(ge=1, le=10**9)] | None = None
    share: Annotated[float, Meta(gt=0.0, le=1.0)] = 1.0
    min_clients: Annotated[int, Meta(ge=3, le=MOST_HONEST)] = 8
    server: Server = "honest"

    def __post_init__(self) -> None:
        if self.server == "active" and self.min_clients > MOST_ACTIVE:
            raise ValueError(
                f'min_clients is over {MOST_ACTIVE}, the most of a round with server = "active"; lower it'
            )

    @property
    def most_clients(self) -> int:
        """Of one round."""
        return MOST_ACTIVE if self.server == "active" else MOST_HONEST


class Security(TaskTable, frozen=True):
    """Bounds on what one client may do, and how updates are added up: the first that a client can, of
    `aggregation`."""

    max_update_norm: Positive = 100.0
    aggregation: Annotated[tuple[Aggregation, ...], Meta(min_length=1, max_length=2)] = ("open",)
    masking: MaskingTable | None = None

    def __post_init__(self) -> None:
        if len(set(self.aggregation)) < len(self.aggregation):
            raise ValueError("security.aggregation names a way twice; name it once")
        if self.masking is not None and not self.masks:
            raise ValueError('security.masking goes with aggregation = ["masked"], or leave it out')

    @property
    def masks(self) -> bool:
        """Whether any client's updates are masked."""
        return "masked" in self.aggregation

    @property
    def masked(self) -> MaskingTable:
        """How masked rounds add up, where there are any."""
        return self.masking or MaskingTable()

    @property
    def clip(self) -> float:
        """The L2 norm to which masked updates are clipped."""
        return self.masked.clip or self.max_update_norm
