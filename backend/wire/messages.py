"""What each side may say on a task's socket. PROTOCOL.md is the specification; this file is its Python half.

Frames are msgpack maps whose key `type` holds the tag. Vectors are little-endian float32.
Durations are seconds, sizes are bytes, hashes are lower-case hexadecimal SHA-256.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

# One import for all that is said: what is named twice here is meant for those who import this module.
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
    """First frame of a connection. `token` is secret, made once by the client and kept between visits.

    `aggregation` says how its updates may be added up, `min_masked` among how many at least where masked.
    """

    token: Token
    kind: Kind
    backend: Word
    agent: Annotated[str, Meta(max_length=64)]
    aggregation: Annotated[list[Aggregation], Meta(min_length=1, max_length=2)]
    min_masked: Annotated[int, Meta(ge=0, le=MOST_MEMBERS)]


class Ready(WireFrame, frozen=True, tag="ready"):
    """The bundle is loaded and one step was timed: may be selected for a round from now on.

    `examples` is the number of its own training examples; 0 where the task deals out shards.
    """

    backend: Word
    step_ms: float
    examples: Count


class Offer(WireFrame, frozen=True, tag="offer"):
    """A finished (or partly finished) update follows in chunks once the server grants credit.

    `examples` counts those processed (its weight in the mean), `loss` is their mean, `size` the update's
    length in bytes.
    """

    round: Count
    version: Count
    examples: int
    steps: int
    loss: float
    sums: Sums
    size: Count


class Chunk(WireFrame, frozen=True, tag="chunk"):
    """Bytes of the offered update from `offset` on; chunks go in order and are at most CHUNK_BYTES long.

    `data` of a decoded chunk is a view of the frame, without a copy.
    """

    round: Count
    offset: Count
    data: memoryview


class Evaluation(WireFrame, frozen=True, tag="evaluation"):
    """The measurement that Evaluate asked for; `examples` is 0 where this client has none held out."""

    round: Count
    version: Count
    examples: Count
    loss: float
    sums: Sums


class Leave(WireFrame, frozen=True, tag="leave"):
    """The volunteer stops; the round goes on without this client."""


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


class Welcome(WireFrame, frozen=True, tag="welcome"):
    """Answer to Hello. `client` is the public id (16 hex digits), `bundle` the address of bundle.json.

    `aggregation` is how this client's updates are added up: the task's first choice that it offered.
    """

    task: str
    client: str
    bundle: Hash
    chunk_bytes: int
    aggregation: Aggregation


class Shard(Struct, frozen=True, forbid_unknown_fields=True):
    """Address of a data shard and the number of its examples."""

    sha256: Hash
    examples: Count


class Privacy(Struct, frozen=True, forbid_unknown_fields=True):
    """What a client does so that its update says little about it or about one of its examples; 0 is nothing.

    The update is clipped to the L2 norm `clip`; Gaussian noise on each value has `noise` times that as its
    standard deviation. Within training, gradients of `microbatch` examples at a time are clipped to
    `example_clip`, and the sum of a step's gets noise of `example_noise` times that (Abadi et al. 2016).
    """

    clip: float
    noise: float
    example_clip: float
    example_noise: float
    microbatch: Count


class Train(WireFrame, frozen=True, tag="train"):
    """You are in the cohort of `round`: train from `weights` on `shards` and report within `seconds`.

    Without `shards` the client trains on its own examples. `steps` is 0 for as many as the epochs make; else
    exactly so many are taken and `epochs` is 0. `batch_size` rows of a step are filled, at most the bundle's.
    `past_steps` is where a learning-rate schedule stands; 0 for a bundle without one. `proximal_mu` times the
    way from the version's weights is added to each gradient (FedProx, Li et al. 2020). `control` is the
    address of the server's control variate, float32 [trainable] (SCAFFOLD, Karimireddy et al. 2020).
    With `masking` the update goes up masked, after an exchange of keys; `privacy` bounds what it says.
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
    """Measure `version` on `shards`, or without them on your own held-out examples, within `seconds`."""

    round: Count
    version: Count
    weights: Hash
    shards: list[Shard]
    seconds: float


class Credit(WireFrame, frozen=True, tag="credit"):
    """The update of `round` may be sent up to (excluding) byte `until`."""

    round: Count
    until: Count


class Accepted(WireFrame, frozen=True, tag="accepted"):
    """Your update counts with `examples` in `round`."""

    round: Count
    examples: Count


class Refused(WireFrame, frozen=True, tag="refused"):
    """Your update of `round` does not count; `reason` is for people."""

    round: Count
    code: Word
    reason: Text


class Participant(Struct, frozen=True, forbid_unknown_fields=True):
    """One connected client as everybody may see it."""

    client: str
    kind: Kind
    backend: str
    status: Status
    accepted: Count


class State(WireFrame, frozen=True, tag="state"):
    """What happens now, for everybody; sent on change, at most four times a second.

    `needed` is how many more clients must be ready before a round opens, `cohort` and `reported` count the
    open round, `seconds` is the time to its deadline (None without an open round).
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
    """A new model version exists. `loss` and `metrics` are the cohort's own, on its training data."""

    version: Count
    round: Count
    weights: Hash
    accepted: Count
    examples: Count
    loss: float
    metrics: Metrics


class Evaluated(WireFrame, frozen=True, tag="evaluated"):
    """The version measured on held-out examples: by the server on its own shards, or by clients."""

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
