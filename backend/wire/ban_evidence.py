"""Evidence against a member of a Byzantine mesh, which anybody can check without asking anybody.

docs/reference/mesh.md, "Evidence", says what each kind contains; protocols/mesh/byzantine/evidence checks it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from backend.errors import EvidenceError
from backend.wire.byzantine_messages import MOST_EVIDENCE, MOST_STATE, Said
from backend.wire.fields import Count, Hash
from backend.wire.mesh_fields import MOST_IN_GROUP, Client, Key, Place

# Rounds between the last statement of the accused and the verdict about its work.
MOST_TURNS = 8
EvidenceKind = Literal["two-words", "wrong-mean", "wrong-check", "majority"]
TaskName = Annotated[str, Meta(min_length=1, max_length=64)]


class TurnSaid(Struct, frozen=True, forbid_unknown_fields=True):
    """Signed statements of one turn: of the round after `state`, an encoded AgreedState.

    `attempt` is the round and group as the convener numbered them, `active` who takes part in the turn.
    """

    state: Annotated[bytes, Meta(min_length=1, max_length=MOST_STATE)]
    attempt: tuple[Count, Count]
    turn: Annotated[int, Meta(ge=1, le=MOST_IN_GROUP)]
    active: Annotated[list[Client], Meta(min_length=1, max_length=MOST_IN_GROUP)]
    said: Annotated[list[Said], Meta(min_length=1, max_length=4 * MOST_IN_GROUP)]


class BanEvidence(Struct, frozen=True, tag="minga-evidence.1", tag_field="form", forbid_unknown_fields=True):
    """What convicts `client`, whose key is `identity`, in a run of a task.

    `part` is that of the mean in question, and `contents` the bytes of its pieces, or of its mean and the
    accused's piece; neither for other kinds.
    """

    task: TaskName
    run: Hash
    kind: EvidenceKind
    client: Client
    identity: Key
    part: Place
    turns: Annotated[list[TurnSaid], Meta(min_length=1, max_length=MOST_TURNS)]
    contents: Annotated[list[bytes], Meta(max_length=2 * MOST_IN_GROUP)]


_decoder: msgspec.msgpack.Decoder[BanEvidence] = msgspec.msgpack.Decoder(BanEvidence)


def encode_evidence(evidence: BanEvidence) -> bytes:
    """Returns the bytes of an `.evidence` file."""
    return msgspec.msgpack.encode(evidence)


def decode_evidence(data: bytes) -> BanEvidence:
    """Returns the evidence of a file's bytes, not checked yet. Raises EvidenceError for other bytes."""
    if len(data) > MOST_EVIDENCE:
        raise EvidenceError(f"Evidence has at most {MOST_EVIDENCE} bytes; this has {len(data)}.")
    try:
        evidence = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EvidenceError(f"These bytes are no evidence: {error}.") from error
    if encode_evidence(evidence) != data:
        # Else one piece of evidence would have many hashes.
        raise EvidenceError("These bytes are no evidence as Minga writes it.")
    return evidence
