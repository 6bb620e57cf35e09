"""What a task's server and the clients that train its work units say to each other. UNITS.md specifies it.

Nobody waits for a cohort here: a client says how many units it takes at once, and is given one whenever a
place is free and there is work. `lease` numbers one client's turn at one unit.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from backend.wire.fields import Count, Hash, Kind, Metrics, Sums, Text, Token, WireFrame, Word
from backend.wire.messages import Chunk, Closing, Credit, Leave, Ready, Shard

UNITS_PROTOCOL = "minga-units.1"
# Units that a client holds at once.
MOST_SLOTS = 64
# Shards of which a client says that it has them.
MOST_HELD = 64

Slots = Annotated[int, Meta(ge=0, le=MOST_SLOTS)]
# Where a unit starts from: the weights it names, the client's own last ones, or those drawn towards these.
Start = Literal["given", "own", "elastic"]
# Why a client gives a unit back.
Cause = Literal["stopping", "paused", "preempted", "data", "memory", "failed"]
UnitPhase = Literal["waiting", "training", "paused", "finished"]

# Client to server.


class Enlist(WireFrame, frozen=True, tag="enlist"):
    """First frame of a connection. `token` is secret, made once by the client and kept between visits.

    `shards` are those that it has in its cache, the newest last.
    """

    token: Token
    kind: Kind
    backend: Word
    agent: Annotated[str, Meta(max_length=64)]
    shards: Annotated[list[Hash], Meta(max_length=MOST_HELD)]


class Want(WireFrame, frozen=True, tag="want"):
    """After Ready: this client takes up to `slots` units at once from now on; 0 for none, while it rests."""

    slots: Slots


class Beat(WireFrame, frozen=True, tag="beat"):
    """This client is still at work on `lease`, and took so many `steps` of it."""

    lease: Count
    steps: Count


class Result(WireFrame, frozen=True, tag="result"):
    """What was trained of `lease` follows in chunks (whose `round` is the lease) once credit is granted.

    It is the change from the unit's weights, float32; `size` its bytes. `examples` counts those processed,
    `loss` is their mean. `steps` is less than the unit's where the client had to stop (preemption).
    """

    lease: Count
    examples: Count
    steps: Count
    loss: float
    sums: Sums
    size: Count


class Release(WireFrame, frozen=True, tag="release"):
    """This client gives `lease` back without a result."""

    lease: Count
    cause: Cause


UnitsToServer = Enlist | Ready | Want | Beat | Result | Chunk | Release | Leave

# Server to client.


class Enlisted(WireFrame, frozen=True, tag="enlisted"):
    """Answer to Enlist. `client` is the public id (16 hex digits), `bundle` the address of bundle.json."""

    task: str
    client: str
    bundle: Hash
    chunk_bytes: int


class Unit(WireFrame, frozen=True, tag="unit"):
    """Train on rows `first` to `first + examples` of `shard` from `weights`, within `seconds`.

    All who train this unit get the same `seed` and weights, so that results can be compared. `base` counts
    the results that are in the weights. `steps`, `epochs`, `batch_size`, `learning_rate`, `past_steps` and
    `proximal_mu` are as in Train. `start` says where training begins; for `elastic`, at the client's own
    last weights drawn towards these by `elasticity` (EASGD, Zhang et al. 2015). Own ones are those that the
    client sent last and that were not refused; without any it begins at the given ones.
    A client says every `heartbeat` seconds that it is at work. The server repeats its open leases after a
    reconnection.
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


class Renewed(WireFrame, frozen=True, tag="renewed"):
    """`lease` holds for `seconds` from now."""

    lease: Count
    seconds: float


class Drop(WireFrame, frozen=True, tag="drop"):
    """`lease` is not needed any more; `reason` is for people. What is sent all the same is looked at."""

    lease: Count
    reason: Text


class Taken(WireFrame, frozen=True, tag="taken"):
    """The result of `lease` is here. Where it `waits`, it is compared with others' before it counts."""

    lease: Count
    waits: bool


class Counted(WireFrame, frozen=True, tag="counted"):
    """The result of `lease` held: its `examples` are credited. `blended`: it is the one in the model."""

    lease: Count
    examples: Count
    blended: bool


class Rejected(WireFrame, frozen=True, tag="rejected"):
    """The result of `lease` does not count; `reason` is for people."""

    lease: Count
    code: Word
    reason: Text


class Idle(WireFrame, frozen=True, tag="idle"):
    """There is no unit for this client now, and why: for people to read. One comes when there is."""

    cause: Literal["nothing", "quota", "reliable", "bound", "over", "paused"]


class Standing(WireFrame, frozen=True, tag="standing"):
    """What the server thinks of this client; told to it alone.

    `credited` examples so far in `units` that held; `checked` results in a row that held against others';
    `quota` units may still be had today.
    """

    credited: Count
    units: Count
    checked: Count
    trusted: bool
    quota: Count


class Tally(Struct, frozen=True, forbid_unknown_fields=True):
    """The units of an epoch: all, those assimilated, at work, and with results that wait for comparison."""

    units: Count
    done: Count
    leased: Count
    compared: Count


class Board(WireFrame, frozen=True, tag="board"):
    """What happens now, for everybody; sent on change, the more seldom the more clients there are.

    `base` counts the results that are in the model so far, `backlog` those that wait to be blended. `loss`
    and `metrics` are the newest measurement, of the weights with `measured` results in them; None before.
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
    Enlisted | Unit | Renewed | Drop | Credit | Taken | Counted | Rejected | Idle | Standing | Board | Closing
)
