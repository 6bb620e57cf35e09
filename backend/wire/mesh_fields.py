"""The field types of a mesh's messages with their limits; docs/reference/mesh.md has the protocol."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from backend.wire.masked_messages import Key as Key
from backend.wire.masked_messages import Signature as Signature

MESH_PROTOCOL = "minga-mesh.1"
# The maximum of members in a group: n^2 links carry its vectors.
MOST_IN_GROUP = 32
MOST_IN_MESH = 1024
# Earlier certificates that prove a peer's newest one.
MOST_IN_CHAIN = 32

Way = Literal["webrtc", "websocket", "relay"]
Ways = Annotated[list[Way], Meta(min_length=1, max_length=3)]
Exchange = Literal["full", "butterfly", "ring"]
# The encoding of pieces in the clear, and in a group that masks them (0032).
Plain = Literal["float32", "float16", "int8"]
Precision = Plain | Literal["masked"]
# The averaged vectors: changes from weights that all members share, or the weights themselves.
Subject = Literal["changes", "weights"]
Reducer = Literal["mean", "trimmed_mean", "centered_clip"]
Client = Annotated[str, Meta(min_length=16, max_length=16, pattern=r"^[0-9a-f]+\Z")]
Place = Annotated[int, Meta(ge=0, lt=MOST_IN_GROUP)]
Places = Annotated[list[Place], Meta(max_length=MOST_IN_GROUP)]
# A host and a port, without user, path or query: a stranger names it, and others connect to it.
Address = Annotated[
    str, Meta(max_length=200, pattern=r"^wss?://([0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?\Z")
]
# The reason of a complaint about a member: unreachable, too slow, or it sends unusable data.
Fault = Literal["gone", "slow", "unfit"]
MemberWeights = Annotated[list[float], Meta(max_length=MOST_IN_GROUP)]
# SHA-256 of a part; in `Held`, empty bytes where a member does not have the part.
Digest = Annotated[bytes, Meta(min_length=32, max_length=32)]
Held = Annotated[list[Annotated[bytes, Meta(max_length=32)]], Meta(max_length=MOST_IN_GROUP)]
# A public X25519 key; empty where pieces are not masked.
GroupKey = Annotated[bytes, Meta(max_length=32)]
# Handshakes, descriptions and candidates, which the server does not read.
Note = Annotated[bytes, Meta(min_length=1, max_length=16 * 1024)]
MOST_RELAYED = 64 * 1024
Parcel = Annotated[bytes, Meta(min_length=1, max_length=MOST_RELAYED)]


class Outer(Struct, frozen=True, forbid_unknown_fields=True):
    """The outer step of DiLoCo (Douillard et al. 2023) that each peer makes; `momentum` is 0 for fedavg."""

    kind: Literal["fedavg", "fedavgm", "nesterov"]
    learning_rate: float
    momentum: float
