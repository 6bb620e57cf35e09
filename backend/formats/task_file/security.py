"""Defines the table [security]: bounds on single clients, and how updates are aggregated."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from backend.formats.task_file.integrity import IntegrityTable
from backend.formats.task_file.reputation import Network, ReputationTable, check_networks
from backend.formats.task_file.robust import RobustTable
from backend.formats.task_file.types import Positive, TaskTable
from backend.protocols.secagg.terms import MOST_ACTIVE
from backend.wire.masked_messages import Aggregation, Server

# With more clients, a round's roster would exceed the maximum length of a server's frame.
MAX_HONEST = 2048
MIB = 1 << 20


class MaskingTable(TaskTable, frozen=True):
    """Configures masked rounds; docs/reference/masked-rounds.md specifies the protocol.

    Sums are modulo 2^`bits`. Updates are clipped to the L2 norm `clip` (by default max_update_norm) and
    weighted by their examples, at most `examples` (by default the maximum that the round's plan allows). Each
    round sends a new random `share` of the parameters; values not sent are added to the client's next update.

    Of one household (a /24 of IPv4 or a /48 of IPv6) at most `max_per_household` clients are in a round; 0 is
    no limit, and the default a quarter of `min_clients`. In `shared_networks` many people share an address.
    """

    bits: Literal[16, 17, 18, 19, 20, 21, 22, 23, 24, 32] = 32
    clip: Positive | None = None
    examples: Annotated[int, Meta(ge=1, le=10**9)] | None = None
    share: Annotated[float, Meta(gt=0.0, le=1.0)] = 1.0
    min_clients: Annotated[int, Meta(ge=3, le=MAX_HONEST)] = 8
    server: Server = "honest"
    max_per_household: Annotated[int, Meta(ge=0, le=MAX_HONEST)] | None = None
    shared_networks: Annotated[tuple[Network, ...], Meta(max_length=100)] = ()

    def __post_init__(self) -> None:
        check_networks(self.shared_networks)
        if self.server == "active" and self.min_clients > MOST_ACTIVE:
            raise ValueError(
                f'min_clients is over {MOST_ACTIVE}, the most of a round with server = "active"; lower it'
            )

    @property
    def most_clients(self) -> int:
        """Maximum number of clients in one round."""
        return MOST_ACTIVE if self.server == "active" else MAX_HONEST

    @property
    def seats_per_household(self) -> int:
        """Maximum number of clients of one household in a round; 0 is no limit."""
        return max(1, self.min_clients // 4) if self.max_per_household is None else self.max_per_household


class KeptUpdatesTable(TaskTable, frozen=True):
    """Keeps the updates that made the last `rounds` versions, for the owner to try another rule on them.

    All kept rounds of the task together take at most `disk` MiB.
    """

    rounds: Annotated[int, Meta(ge=1, le=50)]
    disk: Annotated[int, Meta(ge=1, le=4096)] = 512

    @property
    def most_bytes(self) -> int:
        """The most bytes that kept rounds take together."""
        return self.disk * MIB


class Security(TaskTable, frozen=True):
    """Bounds single clients, and lists the ways to aggregate updates.

    A client uses the first entry of `aggregation` that it supports. `robust` has a rule in place of the mean,
    `reputation` leaves out clients after evidence against them, `integrity` has the checks of versions before
    they are offered, and `kept_updates` says of how many rounds single updates are kept.
    """

    max_update_norm: Positive = 100.0
    aggregation: Annotated[tuple[Aggregation, ...], Meta(min_length=1, max_length=2)] = ("open",)
    masking: MaskingTable | None = None
    robust: RobustTable | None = None
    reputation: ReputationTable | None = None
    integrity: IntegrityTable | None = None
    kept_updates: KeptUpdatesTable | None = None

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
        """Settings of masked rounds, with defaults."""
        return self.masking or MaskingTable()

    @property
    def groups(self) -> int:
        """The number of masked groups that a cohort is split into; 1 is the whole cohort."""
        return 1 if self.robust is None else self.robust.groups or 1

    @property
    def clip(self) -> float:
        """The L2 norm to which masked updates are clipped."""
        return self.masked.clip or self.max_update_norm
