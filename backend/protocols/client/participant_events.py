"""What a participant's host tells the machine, and what the machine asks of it.

Events and effects are msgspec structs, so that a conversation is plain JSON.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from backend.wire.messages import ClientFrame, Evaluate, Hash, Hello, ServerFrame, Sums, Train

# Events.


class StartParticipant(Struct, frozen=True, tag="start"):
    """Take part from now on; `hello` is sent on every connection (its backend becomes the loaded one)."""

    hello: Hello


class Connected(Struct, frozen=True, tag="connected"):
    """The socket is open."""


class ParticipantFrame(Struct, frozen=True, tag="frame"):
    """The server said something."""

    frame: ServerFrame


class BundleLoaded(Struct, frozen=True, tag="loaded"):
    """The bundle of the last `load` effect is ready; one step took `step_ms` milliseconds.

    `examples` are the client's own training examples, 0 where the task deals out shards.
    """

    backend: str
    step_ms: float
    examples: int


class RoundTrained(Struct, frozen=True, tag="trained"):
    """The update of `round`, `size` bytes long, is ready, perhaps after fewer steps than planned.

    Never reported after `abort_training`, nor without a whole step.
    """

    round: int
    size: int
    examples: int
    steps: int
    loss: float
    sums: Sums


class VersionMeasured(Struct, frozen=True, tag="measured"):
    """The measurement that `measure` asked for. Never reported after `abort_measuring`."""

    round: int
    version: int
    examples: int
    loss: float
    sums: Sums


class Disconnected(Struct, frozen=True, tag="disconnected"):
    """The socket closed or could not be opened; `random` in [0, 1) spreads the attempts of many clients."""

    random: Annotated[float, Meta(ge=0.0, lt=1.0)]


class StopParticipant(Struct, frozen=True, tag="stop"):
    """The volunteer stops."""


Event = (
    StartParticipant
    | Connected
    | ParticipantFrame
    | BundleLoaded
    | RoundTrained
    | VersionMeasured
    | Disconnected
    | StopParticipant
)

# Effects, performed in order.


class Connect(Struct, frozen=True, tag="connect"):
    """Open the socket after `delay` seconds; then report `connected` or `disconnected`."""

    delay: float


class SendFrame(Struct, frozen=True, tag="send"):
    """Send one frame."""

    frame: ClientFrame


class Load(Struct, frozen=True, tag="load"):
    """Fetch and load the bundle at this address; then report `loaded`."""

    bundle: Hash


class StartTraining(Struct, frozen=True, tag="train"):
    """Train by this plan; then report `trained`."""

    plan: Train


class AbortTraining(Struct, frozen=True, tag="abort_training"):
    """End the training in progress and throw its result away."""


class MeasureVersion(Struct, frozen=True, tag="measure"):
    """Measure the version on held-out examples; then report `measured`."""

    exam: Evaluate


class AbortMeasuring(Struct, frozen=True, tag="abort_measuring"):
    """End the measurement in progress and throw its result away."""


class KeepChange(Struct, frozen=True, tag="keep_change"):
    """The update of `round` counts: add the change that it made to the client's own control variate."""

    round: int


class UndoChange(Struct, frozen=True, tag="undo_change"):
    """The update of `round` is in no version after all: take its change back out."""

    round: int


class SendUpdateChunks(Struct, frozen=True, tag="send_chunks"):
    """Send bytes [start, until) of the update of `round` as Chunk frames (`start` is `from` in JSON)."""

    round: int
    start: int = field(name="from")
    until: int


class Close(Struct, frozen=True, tag="close"):
    """Close the socket, or forget the attempt to open it."""


Effect = (
    Connect
    | SendFrame
    | Load
    | StartTraining
    | AbortTraining
    | MeasureVersion
    | AbortMeasuring
    | KeepChange
    | UndoChange
    | SendUpdateChunks
    | Close
)
