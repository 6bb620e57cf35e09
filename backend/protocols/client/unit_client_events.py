"""The events that the host of a work-unit client reports, and the effects that it performs.

Events and effects are msgspec structs, so that a conversation is plain JSON. What several machines of a
client share is that of participant_events.py.
"""

from __future__ import annotations

from msgspec import Struct, field

from backend.protocols.client.participant_events import (
    Close,
    Connect,
    Connected,
    Disconnected,
    Load,
    StopParticipant,
)
from backend.wire.fields import Sums
from backend.wire.unit_messages import Cause, Enlist, Offline, ServerToUnits, Slots, Unit, UnitsToServer

# Events.


class StartUnitClient(Struct, frozen=True, tag="start"):
    """Takes part from now on, as `WantUnits` says.

    `enlist` is said on every connection, with the backend and the shards that there are by then.
    """

    enlist: Enlist
    slots: Slots
    at_once: int


class UnitFrame(Struct, frozen=True, tag="frame"):
    """A frame of the server arrived."""

    frame: ServerToUnits


class UnitBundleLoaded(Struct, frozen=True, tag="loaded"):
    """The bundle of the last `load` is loaded; one step took `step_ms` milliseconds.

    `program` is the hash of what computes, for the backend `exact`. `checkpointed` are leases of an earlier
    session, which gave them back, and of which there are checkpoints.
    """

    backend: str
    step_ms: float
    program: str | None = None
    checkpointed: list[int] = field(default_factory=list)


class WantUnits(Struct, frozen=True, tag="want"):
    """Holds up to `slots` units from now on and trains `at_once` of them.

    With 0 slots held units are completed, and no more are taken. Its leases shall last `offline` seconds
    longer, without a connection.
    """

    slots: Slots
    at_once: int
    offline: Offline = 0


class Fetched(Struct, frozen=True, tag="fetched"):
    """The data that `fetch` asked for are loaded. It is not reported after `forget`."""

    lease: int


class UnitTrained(Struct, frozen=True, tag="trained"):
    """The unit of `lease` is trained, perhaps with fewer steps than planned; its result has `size` bytes.

    Never reported after `forget`, nor without a whole step. A client that told a program has a `commitment`
    to the result, and its `salt`, and the hashes of its weights at the `checkpoints` that it reached.
    """

    lease: int
    size: int
    examples: int
    steps: int
    loss: float
    sums: Sums
    commitment: str | None = None
    checkpoints: list[str] = field(default_factory=list)
    salt: str | None = None


class UnitFailed(Struct, frozen=True, tag="failed"):
    """The unit of `lease` could not be fetched or trained, or had to finish before its first step."""

    lease: int
    cause: Cause


class HeartbeatDue(Struct, frozen=True, tag="pulse"):
    """The unit's `heartbeat` seconds passed again; `steps` were done so far."""

    lease: int
    steps: int


class GiveBack(Struct, frozen=True, tag="give_back"):
    """Gives back all units without a result."""

    cause: Cause


class WindDown(Struct, frozen=True, tag="wind_down"):
    """Takes no more units, finishes those in training early, and gives the others back."""

    cause: Cause


Event = (
    StartUnitClient
    | Connected
    | UnitFrame
    | UnitBundleLoaded
    | WantUnits
    | Fetched
    | UnitTrained
    | UnitFailed
    | HeartbeatDue
    | GiveBack
    | WindDown
    | Disconnected
    | StopParticipant
)

# Effects, performed in order.


class SendUnitFrame(Struct, frozen=True, tag="send"):
    """Sends one frame."""

    frame: UnitsToServer


class FetchUnit(Struct, frozen=True, tag="fetch"):
    """Fetches the shard and the weights of `unit`; then the host reports `fetched` or `failed`."""

    unit: Unit


class TrainUnit(Struct, frozen=True, tag="train"):
    """Trains `unit`, which was fetched; then the host reports `trained` or `failed`."""

    unit: Unit


class FinishUnit(Struct, frozen=True, tag="finish"):
    """Stops training `lease` after its current step; then the host reports `trained` or `failed`."""

    lease: int


class ForgetUnit(Struct, frozen=True, tag="forget"):
    """Stops all work on `lease` and discards its data."""

    lease: int


class SendResultChunks(Struct, frozen=True, tag="send_chunks"):
    """Sends bytes [start, until) of the result of `lease` as Chunk frames (`start` is `from` in JSON)."""

    lease: int
    start: int = field(name="from")
    until: int


Effect = (
    Connect
    | SendUnitFrame
    | Load
    | FetchUnit
    | TrainUnit
    | FinishUnit
    | ForgetUnit
    | SendResultChunks
    | Close
)
