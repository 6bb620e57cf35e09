"""The messages between a task's server and the clients of its work units.

docs/reference/units-on-the-wire.md is the specification.

No client waits for a cohort: a client states its number of slots, and receives a unit whenever a slot is free
and a unit is available. `lease` numbers the assignment of one unit to one client.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from backend.wire.fields import Count, Hash, Kind, Metrics, Sums, Text, Token, WireFrame, Word
from backend.wire.messages import Chunk, Closing, Credit, Leave, Ready, Shard

UNITS_PROTOCOL = "minga-units.1"
# The maximum of units that a client works on simultaneously.
MOST_SLOTS = 64
# The maximum of cached shards that a client reports.
MOST_HELD = 64
# The most checkpoints of a result.
MOST_CHECKPOINTS = 16

Slots = Annotated[int, Meta(ge=0, le=MOST_SLOTS)]
# Seconds without a connection.
Offline = Annotated[int, Meta(ge=0, le=86_400)]
# The initial weights: the given ones, the client's own last ones, or own ones drawn towards the given ones.
Start = Literal["given", "own", "elastic"]
# The reason for which a client releases a unit.
Cause = Literal["stopping", "paused", "preempted", "data", "memory", "failed"]
UnitPhase = Literal["waiting", "training", "paused", "finished"]

# Client to server.


class Enlist(WireFrame, frozen=True, tag="enlist"):
    """First frame of a connection. `token` is secret; the client creates it once and keeps it.

    `shards` are the shards in its cache, the newest last.
    """

    token: Token
    kind: Kind
    backend: Word
    agent: Annotated[str, Meta(max_length=64)]
    shards: Annotated[list[Hash], Meta(max_length=MOST_HELD)]


class Want(WireFrame, frozen=True, tag="want"):
    """After Ready: the client takes up to `slots` units at a time from now on; 0 pauses it.

    It may be without a connection for `offline` seconds: its leases last that much longer, up to what the
    task allows.
    """

    slots: Slots
    offline: Offline = 0


class Beat(WireFrame, frozen=True, tag="beat"):
    """A heartbeat: the client still works on `lease`, and has done `steps` of it.

    For a lease that it gave back it says that it has a checkpoint, and would continue: the server repeats
    the Unit if nobody else has got it, else it answers with Drop.
    """

    lease: Count
    steps: Count


class Result(WireFrame, frozen=True, tag="result"):
    """Offers the result of `lease`, which follows in chunks (whose `round` is the lease) once credited.

    The result is the change from the unit's weights, float32, of `size` bytes. `examples` counts the
    processed examples, `loss` is their mean loss. `steps` is less than the unit's where the client was
    preempted. A client that told a program commits to the vector: `commitment` is SHA-256(salt, its public
    id, lease, vector) (`crypto.result_commitments`); `checkpoints` are the SHA-256 of its weights after some
    steps (`protocols.replay.checkpoints`).
    """

    lease: Count
    examples: Count
    steps: Count
    loss: float
    sums: Sums
    size: Count
    commitment: Hash | None = None
    checkpoints: Annotated[list[Hash], Meta(max_length=MOST_CHECKPOINTS)] = field(default_factory=list)


class Salt(WireFrame, frozen=True, tag="salt"):
    """Answer to OpenCommitment: the `salt` (32 bytes in hexadecimal) of the result of `lease`."""

    lease: Count
    salt: Hash


class Release(WireFrame, frozen=True, tag="release"):
    """The client releases `lease` without a result."""

    lease: Count
    cause: Cause


UnitsToServer = Enlist | Ready | Want | Beat | Result | Salt | Chunk | Release | Leave

# Server to client.


class Enlisted(WireFrame, frozen=True, tag="enlisted"):
    """Answer to Enlist. `client` is the public id (16 hex digits), `bundle` the address of bundle.json.

    Clients may take work for `offline` seconds without a connection; 0: for none.
    """

    task: str
    client: str
    bundle: Hash
    chunk_bytes: int
    offline: Offline = 0


class Unit(WireFrame, frozen=True, tag="unit"):
    """Train on rows `first` to `first + examples` of `shard` from `weights`, within `seconds`.

    All clients of this unit get the same `seed` and weights, so that results can be compared. `base` counts
    the results that are in the weights. `steps`, `epochs`, `batch_size`, `learning_rate`, `past_steps` and
    `proximal_mu` are as in Train; the `steps` are those after the first `first_step`, which are in another
    client's partial result. `start` names the initial weights; for `elastic`, these are the client's
    own last weights drawn towards the given ones by `elasticity` (EASGD, Zhang et al. 2015). Own weights are
    those that the client sent last and that were not refused; without any it starts from the given ones.
    A client sends a Beat every `heartbeat` seconds. The server repeats its open leases after a reconnection.
    """

    lease: Count
    unit: Count
    epoch: Count
    shard: Shard
    first: Count
    examples: Count
    base: Count
    weights: Hash
    epochs: Count
    steps: Count
    batch_size: Count
    learning_rate: float
    past_steps: Count
    seed: Count
    proximal_mu: float
    start: Start
    elasticity: float
    seconds: float
    heartbeat: float
    first_step: Count = 0


class Renewed(WireFrame, frozen=True, tag="renewed"):
    """`lease` is valid for `seconds` from now."""

    lease: Count
    seconds: float


class Drop(WireFrame, frozen=True, tag="drop"):
    """`lease` is no longer needed; `reason` is for people. The server still checks a result sent for it.

    After Counted: another parameter server overwrote the result in the model; it stays credited.
    """

    lease: Count
    reason: Text


class OpenCommitment(WireFrame, frozen=True, tag="open"):
    """Send the salt of the result of `lease`: the vector is here, or another client's that may equal it.

    An equal one needs no upload. Where the salt shows that it differs, Credit follows.
    """

    lease: Count


class Taken(WireFrame, frozen=True, tag="taken"):
    """The result of `lease` arrived. If it `waits`, it is compared with others before it counts."""

    lease: Count
    waits: bool


class Counted(WireFrame, frozen=True, tag="counted"):
    """The result of `lease` is valid: its `examples` are credited. `blended`: the model contains it."""

    lease: Count
    examples: Count
    blended: bool


class Rejected(WireFrame, frozen=True, tag="rejected"):
    """The result of `lease` does not count; `reason` is for people."""

    lease: Count
    code: Word
    reason: Text


class Idle(WireFrame, frozen=True, tag="idle"):
    """No unit is available for this client now, with the cause, for people; the server sends one later."""

    cause: Literal["nothing", "quota", "reliable", "bound", "released", "over", "paused"]


class Standing(WireFrame, frozen=True, tag="standing"):
    """The server's record of this client, which only this client receives.

    It has `credited` examples in `units` valid units; `checked` results in a row agreed with others' results;
    it may get `quota` more units today.
    """

    credited: Count
    units: Count
    checked: Count
    trusted: bool
    quota: Count


class Tally(Struct, frozen=True, forbid_unknown_fields=True):
    """The units of an epoch: all, the assimilated, the leased, and those that wait for comparison."""

    units: Count
    done: Count
    leased: Count
    compared: Count


class Board(WireFrame, frozen=True, tag="board"):
    """The task's current state, sent to all clients on change, less often with more clients.

    `base` is the number of the model, which counts blended results, `backlog` counts those that wait. `loss`
    and `metrics` are from the newest evaluation, of weights with `measured` results in them; `loss` is None
    before the first.
    """

    phase: UnitPhase
    epoch: Count
    epochs: Count
    tally: Tally
    base: Count
    backlog: Count
    browsers: Count
    peers: Count
    measured: Count
    loss: float | None
    metrics: Metrics


ServerToUnits = (
    Enlisted
    | Unit
    | Renewed
    | Drop
    | Credit
    | OpenCommitment
    | Taken
    | Counted
    | Rejected
    | Idle
    | Standing
    | Board
    | Closing
)
