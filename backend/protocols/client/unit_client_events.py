"""What the host of a client of work units tells its machine, and what the machine asks of it.

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
from backend.wire.unit_messages import Cause, Enlist, ServerToUnits, Slots, Unit, UnitsToServer

# Events.


class StartUnitClient(Struct, frozen=True, tag="start"):
    """Take part from now on, as `WantUnits` says.

    `enlist` is said on every connection, with the backend and the shards that there are by then.
    """

    enlist: Enlist
    slots: Slots
    at_once: int


class UnitFrame(Struct, frozen=True, tag="frame"):
    """The server said something."""

    frame: ServerToUnits


class UnitBundleLoaded(Struct, frozen=True, tag="loaded"):
    """The bundle of the last `load` is ready; one step took `step_ms` milliseconds."""

    backend: str
    step_ms: float


class WantUnits(Struct, frozen=True, tag="want"):
    """Hold up to `slots` units from now on and train `at_once` of them.

    With no slots what is held is still done, and no more is taken.
    """

    slots: Slots
    at_once: int


class Fetched(Struct, frozen=True, tag="fetched"):
    """What `fetch` asked for is here. Never reported after `forget`."""

    lease: int


class UnitTrained(Struct, frozen=True, tag="trained"):
    """The result of `lease`, `size` bytes long, is ready, perhaps after fewer steps than planned.

    Never reported after `forget`, nor without a whole step.
    """

    lease: int
    size: int
    examples: int
    steps: int
    loss: float
    sums: Sums


class UnitFailed(Struct, frozen=True, tag="failed"):
    """`lease` could not be fetched or trained, or was to finish before its first step."""

    lease: int
    cause: Cause


class HeartbeatDue(Struct, frozen=True, tag="pulse"):
    """The unit's `heartbeat` seconds are over again; `steps` were taken so far."""

    lease: int
    steps: int


class GiveBack(Struct, frozen=True, tag="give_back"):
    """Give back at once what is held without a result."""

    cause: Cause


class WindDown(Struct, frozen=True, tag="wind_down"):
    """Take no more units, send what was done of those in training, and give the others back."""

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
    """Send one frame."""

    frame: UnitsToServer


class FetchUnit(Struct, frozen=True, tag="fetch"):
    """Get the shard and the weights of `unit`; then report `fetched`, or `failed`."""

    unit: Unit


class TrainUnit(Struct, frozen=True, tag="train"):
    """Train `unit`, which was fetched; then report `trained`, or `failed`."""

    unit: Unit


class FinishUnit(Struct, frozen=True, tag="finish"):
    """End the training of `lease` after its present step; then report `trained`, or `failed`."""

    lease: int


class ForgetUnit(Struct, frozen=True, tag="forget"):
    """`lease` is over here: end what goes on of it and throw away what is kept for it."""

    lease: int


class SendResultChunks(Struct, frozen=True, tag="send_chunks"):
    """Send bytes [start, until) of the result of `lease` as Chunk frames (`start` is `from` in JSON)."""

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
