"""What fields of a mesh's messages may hold; docs/reference/mesh.md has the protocol."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from backend.wire.masked_messages import Key as Key
from backend.wire.masked_messages import Signature as Signature

MESH_PROTOCOL = "minga-mesh.1"
# Members of a group; n^2 links carry its vectors.
MOST_IN_GROUP = 32
MOST_IN_MESH = 1024

Way = Literal["webrtc", "websocket", "relay"]
Ways = Annotated[list[Way], Meta(min_length=1, max_length=3)]
Exchange = Literal["full", "butterfly", "ring"]
# How pieces are told where they may be seen, and in a group that masks them (0032).
Plain = Literal["float32", "float16", "int8"]
Precision = Plain | Literal["masked"]
# What is averaged: the way from weights that all members share, or the weights themselves.
Subject = Literal["changes", "weights"]
Reducer = Literal["mean", "trimmed_mean", "centered_clip"]
Client = Annotated[str, Meta(min_length=16, max_length=16, pattern=r"^[0-9a-f]+\Z")]
Place = Annotated[int, Meta(ge=0, lt=MOST_IN_GROUP)]
Places = Annotated[list[Place], Meta(max_length=MOST_IN_GROUP)]
Address = Annotated[str, Meta(max_length=200, pattern=r"^wss?://[!-~]+\Z")]
# Why a member is complained of: no way to it, too slow, or what it sends is of no use.
Fault = Literal["gone", "slow", "unfit"]
MemberWeights = Annotated[list[float], Meta(max_length=MOST_IN_GROUP)]
# SHA-256 of what a part holds; empty bytes where a member has no such part.
Digest = Annotated[bytes, Meta(min_length=32, max_length=32)]
Held = Annotated[list[Annotated[bytes, Meta(max_length=32)]], Meta(max_length=MOST_IN_GROUP)]
# A public key of X25519; empty where nothing is masked.
GroupKey = Annotated[bytes, Meta(max_length=32)]
# Handshakes, descriptions and candidates; the server does not look into them.
Note = Annotated[bytes, Meta(min_length=1, max_length=16 * 1024)]
MOST_RELAYED = 64 * 1024
Parcel = Annotated[bytes, Meta(min_length=1, max_length=MOST_RELAYED)]


class Outer(Struct, frozen=True, forbid_unknown_fields=True):
    """The outer step of DiLoCo (Douillard et al. 2023), by each peer; `momentum` is 0 for fedavg."""

    kind: Literal["fedavg", "fedavgm", "nesterov"]
    learning_rate: float
    momentum: float
