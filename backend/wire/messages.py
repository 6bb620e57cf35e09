"""The messages on a task's socket in synchronous rounds.

docs/reference/rounds-on-the-wire.md is the specification.

Frames are msgpack maps whose key `type` holds the tag. Vectors are little-endian float32.
Durations are seconds, sizes are bytes, hashes are lower-case hexadecimal SHA-256.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

# Names imported `as` themselves are re-exported, so that callers import all messages from this module.
from backend.wire.fields import CHUNK_BYTES as CHUNK_BYTES
from backend.wire.fields import PROTOCOL as PROTOCOL
from backend.wire.fields import Count, Text, Token, WireFrame, Word
from backend.wire.fields import Hash as Hash
from backend.wire.fields import Kind as Kind
from backend.wire.fields import Metrics as Metrics
from backend.wire.fields import Phase as Phase
from backend.wire.fields import Source as Source
from backend.wire.fields import Status as Status
from backend.wire.fields import Sums as Sums
from backend.wire.masked_messages import MOST_MEMBERS
from backend.wire.masked_messages import Aggregation as Aggregation
from backend.wire.masked_messages import AggregationTerms as AggregationTerms
from backend.wire.masked_messages import ConsistencySignature as ConsistencySignature
from backend.wire.masked_messages import Dealt as Dealt
from backend.wire.masked_messages import Decline as Decline
from backend.wire.masked_messages import Keys as Keys
from backend.wire.masked_messages import Masking as Masking
from backend.wire.masked_messages import Reveal as Reveal
from backend.wire.masked_messages import Roster as Roster
from backend.wire.masked_messages import Shares as Shares
from backend.wire.masked_messages import Survivors as Survivors
from backend.wire.masked_messages import Unmask as Unmask

# Client to server.


class Hello(WireFrame, frozen=True, tag="hello"):
    """First frame of a connection. `token` is secret; the client creates it once and keeps it.

    `aggregation` lists how its updates may be added up, `min_masked` the minimum of clients where masked.
    """

    token: Token
    kind: Kind
    backend: Word
    agent: Annotated[str, Meta(max_length=64)]
    aggregation: Annotated[list[Aggregation], Meta(min_length=1, max_length=2)]
    min_masked: Annotated[int, Meta(ge=0, le=MOST_MEMBERS)]


class Ready(WireFrame, frozen=True, tag="ready"):
    """The client loaded the bundle and timed one step: it may now be selected for a round.

    `examples` is the number of its own training examples; 0 where the task assigns shards. `program` is the
    hash of its program, if that gives the same bits on every machine (backend `exact`).
    """

    backend: Word
    step_ms: float
    examples: Count
    program: Hash | None = None


class Offer(WireFrame, frozen=True, tag="offer"):
    """Offers a finished (or partly finished) update, which follows in chunks once the server grants credit.

    `examples` counts the processed examples (the update's weight in the mean), `loss` is their mean loss,
    `size` the update's length in bytes.
    """

    round: Count
    version: Count
    examples: int
    steps: int
    loss: float
    sums: Sums
    size: Count


class Chunk(WireFrame, frozen=True, tag="chunk"):
    """Bytes of the offered update from `offset` on; chunks are sent in order, at most CHUNK_BYTES long.

    `data` of a decoded chunk is a view of the frame, without a copy.
    """

    round: Count
    offset: Count
    data: memoryview


class Evaluation(WireFrame, frozen=True, tag="evaluation"):
    """The evaluation that Evaluate asked for; `examples` is 0 where the client holds none out."""

    round: Count
    version: Count
    examples: Count
    loss: float
    sums: Sums


class Leave(WireFrame, frozen=True, tag="leave"):
    """The volunteer stops; the round continues without this client."""


ClientFrame = (
    Hello
    | Ready
    | Offer
    | Chunk
    | Evaluation
    | Leave
    | Keys
    | Shares
    | ConsistencySignature
    | Reveal
    | Decline
)

# Server to client.


class PrivacyTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """What [privacy] of the task file promises: updates or gradients are clipped to the L2 norm `clip`.

    The noise has the standard deviation `noise` times `clip`. It is added by the server (`central`), or by
    the clients: to their updates (`local`), in shares that add up to it (`distributed`), or to the sum of a
    step's gradients, `microbatch` examples at a time (`examples`); a round then makes at most `visits` to an
    example, which are 0 else. Epsilon is stated for `delta`.
    """

    mechanism: Literal["central", "local", "distributed", "examples"]
    clip: float
    noise: float
    delta: float
    microbatch: Count
    visits: Count


class Welcome(WireFrame, frozen=True, tag="welcome"):
    """Answer to Hello. `client` is the public id (16 hex digits), `bundle` the address of bundle.json.

    `aggregation` is how this client's updates are added up: the task's first choice that the client offered.
    `run` identifies the run of the task; versions count from 0, and a restarted task gets a new run. A
    client leaves a server whose plans do less than the terms of `masking` (None where updates are not masked)
    and of `privacy` (None without [privacy]). In so many rounds of `probation` its updates are checked before
    they count.
    """

    task: str
    client: str
    bundle: Hash
    run: Hash
    chunk_bytes: int
    aggregation: Aggregation
    masking: AggregationTerms | None
    privacy: PrivacyTerms | None
    probation: Count = 0


class Shard(Struct, frozen=True, forbid_unknown_fields=True):
    """Address of a data shard and the number of its examples."""

    sha256: Hash
    examples: Count


class Privacy(Struct, frozen=True, forbid_unknown_fields=True):
    """The client's local differential privacy, for itself and for each of its examples; 0 switches it off.

    The update is clipped to the L2 norm `clip`; the Gaussian noise on each value has the standard deviation
    `noise` times `clip`. In training, the gradients of `microbatch` examples at a time are clipped to
    `example_clip`, and a step's sum gets noise of `example_noise` times that (Abadi et al. 2016).
    """

    clip: float
    noise: float
    example_clip: float
    example_noise: float
    microbatch: Count


class Train(WireFrame, frozen=True, tag="train"):
    """Assigns training in `round`: train from `weights` on `shards` and report within `seconds`.

    Without `shards` the client trains on its own examples. With `steps` = 0 the epochs give their number;
    else exactly `steps` are done and `epochs` is 0. `batch_size` rows of a step are filled, at most the
    bundle's. `past_steps` is the position in a learning-rate schedule; 0 for a bundle without one.
    `proximal_mu` times the difference to the version's weights is added to each gradient (FedProx, Li et al.
    2020). `control` is the address of the server's control variate, float32 [trainable] (SCAFFOLD,
    Karimireddy et al. 2020). With `masking` the update is sent masked, after an exchange of keys; `privacy`
    bounds what it reveals.
    """

    round: Count
    version: Count
    weights: Hash
    epochs: Count
    steps: Count
    batch_size: Count
    learning_rate: float
    past_steps: Count
    seed: Count
    proximal_mu: float
    control: Hash | None
    masking: Masking | None
    privacy: Privacy | None
    shards: list[Shard]
    seconds: float


class Evaluate(WireFrame, frozen=True, tag="evaluate"):
    """Asks for an evaluation of `version` on `shards`, or on own held-out examples, within `seconds`."""

    round: Count
    version: Count
    weights: Hash
    shards: list[Shard]
    seconds: float


class Credit(WireFrame, frozen=True, tag="credit"):
    """The client may send the update of `round` up to (excluding) byte `until`."""

    round: Count
    until: Count


class Accepted(WireFrame, frozen=True, tag="accepted"):
    """The client's update is accepted with `examples` in `round`.

    If it is not `counted` in the aggregate, `reason` says why, for people; without a reason it was checked
    only, as those of newcomers are. Pages say the same in other languages by `code`: `quarantine` for what
    was `found` in earlier updates, or `household` for a new client of a network where it was; it may count
    after `rounds` more.
    """

    round: Count
    examples: Count
    counted: bool = True
    reason: Text = ""
    code: Word | None = None
    found: Annotated[list[Word], Meta(max_length=2)] = field(default_factory=list)
    rounds: Count = 0


class Refused(WireFrame, frozen=True, tag="refused"):
    """The client's update of `round` does not count; `reason` is for people."""

    round: Count
    code: Word
    reason: Text


class Participant(Struct, frozen=True, forbid_unknown_fields=True):
    """The public description of a connected client."""

    client: str
    kind: Kind
    backend: str
    status: Status
    accepted: Count


class State(WireFrame, frozen=True, tag="state"):
    """The task's current state, sent to all clients on change, at most four times a second.

    `needed` is the number of clients missing before a round opens. `cohort` and `reported` count the members
    of the open round and their reports, `seconds` is the time to its deadline (None without an open round).
    """

    phase: Phase
    round: Count
    version: Count
    needed: int
    cohort: int
    reported: int
    quorum: int
    seconds: float | None
    participants: list[Participant]


class Version(WireFrame, frozen=True, tag="version"):
    """Announces a new model version. `loss` and `metrics` are the cohort's, on its training data."""

    version: Count
    round: Count
    weights: Hash
    accepted: Count
    examples: Count
    loss: float
    metrics: Metrics


class Evaluated(WireFrame, frozen=True, tag="evaluated"):
    """The evaluation of a version on held-out examples: by the server on its own shards, or by clients."""

    version: Count
    source: Source
    loss: float
    metrics: Metrics


class Abandoned(WireFrame, frozen=True, tag="abandoned"):
    """The round ended without a new version; `reason` is for people."""

    round: Count
    reason: Text


class Closing(WireFrame, frozen=True, tag="closing"):
    """Last frame before the server closes this connection."""

    code: Word
    reason: Text


ServerFrame = (
    Welcome
    | Train
    | Evaluate
    | Credit
    | Accepted
    | Refused
    | State
    | Version
    | Evaluated
    | Abandoned
    | Roster
    | Dealt
    | Survivors
    | Unmask
    | Closing
)
