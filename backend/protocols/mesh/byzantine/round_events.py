"""Events that the host of a Byzantine mesh's member gives its machine, and effects that it performs.

The host has all bytes: its own pieces, received ones and means, which it keeps by their SHA-256. It has the
keys, too: it signs what the machine says, and gives it only statements whose signatures it checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from backend.crypto.statements import Statement, TurnOfRound
from backend.protocols.mesh.byzantine.outcome import Removal
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_bodies import WorkFinding

# Events.


@dataclass(frozen=True)
class WorkReady:
    """This member's vector is cut for the turn: the SHA-256 of each piece, none of a validator."""

    pieces: list[bytes]


@dataclass(frozen=True)
class WorkJudged:
    """What this member found about another one's work."""

    judgement: WorkFinding


@dataclass(frozen=True)
class StatementReceived:
    """A statement arrived that its sender signed for the machine's present turn, `machine.turn.turn`.

    `signers` are the identities of members that passed it on, of signatures that the host checked.
    Statements of later turns wait in the host until the machine has come to their turn.
    """

    statement: Statement
    signers: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class BytesReceived:
    """All bytes of a piece or mean arrived, of this SHA-256."""

    digest: bytes


@dataclass(frozen=True)
class MeanMade:
    """The mean that `MakeMean` asked for, by its SHA-256; the host has its bytes."""

    digest: bytes


@dataclass(frozen=True)
class MeansChecked:
    """By part, this member's product and length; by worker, those of the pieces of its own part."""

    products: list[float]
    lengths: list[float]
    own_products: list[float]
    own_lengths: list[float]


@dataclass(frozen=True)
class MeanRemade:
    """A disputed mean, made again: its SHA-256, and each worker's product and length."""

    part: int
    digest: bytes
    products: list[float]
    lengths: list[float]


@dataclass(frozen=True)
class OuterStepped:
    """The SHA-256 of the weights and of the optimizer's momentum after the outer step."""

    weights: bytes
    slots: bytes


@dataclass(frozen=True)
class RoundTimePassed:
    """The time that `timer` named has come."""


RoundEvent: TypeAlias = (
    WorkReady
    | WorkJudged
    | StatementReceived
    | BytesReceived
    | MeanMade
    | MeansChecked
    | MeanRemade
    | OuterStepped
    | RoundTimePassed
)

# Effects, performed in order.


@dataclass(frozen=True)
class TurnBegins:
    """Cut this member's vector into so many parts; answer `WorkReady`. A validator has none."""

    turn: int
    parts: int
    works: bool


@dataclass(frozen=True)
class SayToAll:
    """Sign this statement of this member in `turn`, and send it to everybody in the mesh."""

    statement: Statement
    turn: TurnOfRound


@dataclass(frozen=True)
class PassOn:
    """Send a statement in `turn` to everybody, with all signatures known for it and this member's own."""

    statement: Statement
    turn: TurnOfRound


@dataclass(frozen=True)
class SendBytes:
    """Send the bytes of this SHA-256 to these clients."""

    digest: bytes
    clients: tuple[str, ...]


@dataclass(frozen=True)
class MakeMean:
    """Make the clipped mean of the pieces of own `part`, by worker; answer `MeanMade`.

    `radius` is that of the part, 0 for the median of the pieces' distances from their median.
    """

    part: int
    pieces: tuple[bytes, ...]
    radius: float


@dataclass(frozen=True)
class CheckMeans:
    """Compute products and lengths for the means of all parts; answer `MeansChecked`."""

    coin: bytes
    means: tuple[bytes, ...]
    radius: float


@dataclass(frozen=True)
class RemakeMean:
    """Make a disputed mean again of all its pieces; answer `MeanRemade`."""

    part: int
    pieces: tuple[bytes, ...]
    radius: float
    coin: bytes


@dataclass(frozen=True)
class TakeOuterStep:
    """Take the outer step by the means of all parts; answer `OuterStepped`. None leave the weights."""

    means: tuple[bytes, ...]


@dataclass(frozen=True)
class RemoveClient:
    """A client was removed from the round after `turn`, and why.

    The statements, with the signatures that the host holds, are evidence where that convicts.
    """

    client: str
    why: Removal
    statements: tuple[Statement, ...]
    turn: TurnOfRound


@dataclass(frozen=True)
class FinishRound:
    """The members agreed on this state."""

    state: AgreedState


@dataclass(frozen=True)
class AdoptState:
    """The members agreed on a state that this one did not compute: fetch it from them."""

    state: bytes


@dataclass(frozen=True)
class FailRound:
    """This member knows of no result; `reason` is for people."""

    reason: str


RoundEffect: TypeAlias = (
    TurnBegins
    | SayToAll
    | PassOn
    | SendBytes
    | MakeMean
    | CheckMeans
    | RemakeMean
    | TakeOuterStep
    | RemoveClient
    | FinishRound
    | AdoptState
    | FailRound
)
