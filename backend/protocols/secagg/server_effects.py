"""Effects of the masked round's machine, which its host (the server) performs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from backend.errors import UpdateRefusedError
from backend.protocols.rounds.round_effects import ClientId
from backend.wire.masked_messages import Dealt, Member, Roster, Survivors, Unmask

Place: TypeAlias = int


@dataclass(frozen=True)
class Tell:
    """Send `frame` to one client, if it is connected; `client_ready` repeats it."""

    client: ClientId
    frame: Roster | Dealt | Survivors | Unmask


@dataclass(frozen=True)
class TellAll:
    """Send `frame` to each of `clients` that is connected; it is encoded once."""

    clients: tuple[ClientId, ...]
    frame: Roster | Survivors | Unmask


@dataclass(frozen=True)
class Exclude:
    """No update of this client can count in the round: tell the Round (`member_excluded`) and the client.

    If it `awaits_version`, it says that its update of this version was summed before: first tell the Round
    that it takes no part before the next one (`version_awaited`).
    """

    client: ClientId
    error: UpdateRefusedError
    awaits_version: bool = False


@dataclass(frozen=True)
class IgnoreReveal:
    """Log that a client's frame is not used during unmasking; its update counts already."""

    client: ClientId
    error: UpdateRefusedError


@dataclass(frozen=True)
class Recover:
    """Enough was revealed: unmask the sum, then answer `unmasked`, or `mismatched` if shares do not fit.

    Places are those in `members`. `pairs` has, for each place, the neighbours with which it shares a mask:
    none for a place whose shares never came. `seeds` are shares of the seeds of `alive`, `mask_keys` of the
    private mask keys of members that shared but are not alive, by owner and holder; `threshold` recover one.
    `group` is the number of the members' group in the cohort.
    """

    round: int
    context: bytes
    members: tuple[Member, ...]
    threshold: int
    pairs: tuple[tuple[Place, ...], ...]
    alive: tuple[Place, ...]
    seeds: Mapping[Place, Mapping[Place, bytes]]
    mask_keys: Mapping[Place, Mapping[Place, bytes]]
    group: int = 0

    def __repr__(self) -> str:
        """Omits the shares: a representation may end in a log."""
        return f"Recover(round={self.round}, members={len(self.members)}, alive={len(self.alive)})"


@dataclass(frozen=True)
class FailMaskedRound:
    """The round's sum cannot be unmasked, and nothing of it is revealed; `reason` is for people.

    The shares of `false_sharers` are why: keep these clients out of the next rounds.
    """

    round: int
    reason: str
    false_sharers: tuple[ClientId, ...] = ()


@dataclass(frozen=True)
class LoseGroup:
    """The sum of one group cannot be unmasked, and nothing of it is revealed; the round continues without it.

    `clients` were drawn into it. The shares of `false_sharers` are why: keep them out of the next rounds.
    """

    round: int
    group: int
    clients: tuple[ClientId, ...]
    reason: str
    false_sharers: tuple[ClientId, ...] = ()


@dataclass(frozen=True)
class UseSums:
    """All sums that can be unmasked are unmasked: make the version of them."""

    round: int


Effect: TypeAlias = Tell | TellAll | Exclude | IgnoreReveal | Recover | FailMaskedRound | LoseGroup | UseSums
