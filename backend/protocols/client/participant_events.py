"""The events that a participant's host reports to the machine, and the effects that it performs.

Events and effects are msgspec structs, so that golden conversations are plain JSON.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from backend.wire.messages import ClientFrame, Evaluate, Hash, Hello, ServerFrame, Sums, Train

# Events.


class StartParticipant(Struct, frozen=True, tag="start"):
    """Takes part from now on; `hello` is sent on every connection (its backend becomes the loaded one).

    The client leaves a task whose clients add less noise than `min_noise` times the clip.
    """

    hello: Hello
    min_noise: float


class Connected(Struct, frozen=True, tag="connected"):
    """The socket opened."""


class ParticipantFrame(Struct, frozen=True, tag="frame"):
    """A frame of the server arrived."""

    frame: ServerFrame


class BundleLoaded(Struct, frozen=True, tag="loaded"):
    """The bundle of the last `load` effect is loaded; one step took `step_ms` milliseconds.

    `examples` is the number of the client's own training examples, 0 where the task assigns shards. `program`
    is the hash of what computes, for the backend `exact`.
    """

    backend: str
    step_ms: float
    examples: int
    program: str | None = None


class RoundTrained(Struct, frozen=True, tag="trained"):
    """The update of `round`, `size` bytes long, is trained, perhaps with fewer steps than planned.

    It is not reported after `abort_training`, nor without a whole step.
    """

    round: int
    size: int
    examples: int
    steps: int
    loss: float
    sums: Sums


class VersionMeasured(Struct, frozen=True, tag="measured"):
    """The evaluation that `measure` asked for. It is not reported after `abort_measuring`."""

    round: int
    version: int
    examples: int
    loss: float
    sums: Sums


class Disconnected(Struct, frozen=True, tag="disconnected"):
    """The socket closed or did not open; `random` in [0, 1) spreads the attempts of many clients."""

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
    """Opens the socket after `delay` seconds; then the host reports `connected` or `disconnected`."""

    delay: float


class SendFrame(Struct, frozen=True, tag="send"):
    """Sends one frame."""

    frame: ClientFrame


class Load(Struct, frozen=True, tag="load"):
    """Fetches and loads the bundle at this address; then the host reports `loaded`."""

    bundle: Hash


class StartTraining(Struct, frozen=True, tag="train"):
    """Trains by this plan; then the host reports `trained`."""

    plan: Train


class AbortTraining(Struct, frozen=True, tag="abort_training"):
    """Stops the training in progress and discards its result."""


class MeasureVersion(Struct, frozen=True, tag="measure"):
    """Evaluates the version on held-out examples; then the host reports `measured`."""

    exam: Evaluate


class AbortMeasuring(Struct, frozen=True, tag="abort_measuring"):
    """Stops the evaluation in progress and discards its result."""


class KeepChange(Struct, frozen=True, tag="keep_change"):
    """Adds the change of the accepted update of `round` to the client's own control variate."""

    round: int


class UndoChange(Struct, frozen=True, tag="undo_change"):
    """Subtracts the change of `round` again, because its update is in no version."""

    round: int


class SendUpdateChunks(Struct, frozen=True, tag="send_chunks"):
    """Sends bytes [start, until) of the update of `round` as Chunk frames (`start` is `from` in JSON)."""

    round: int
    start: int = field(name="from")
    until: int


class Close(Struct, frozen=True, tag="close"):
    """Closes the socket, or cancels the attempt to open it."""


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
