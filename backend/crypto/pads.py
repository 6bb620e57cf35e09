"""The masks of pieces in a mesh group: two members share a pad for each part and each set of members.

Of two members of a set the lower place adds the pad and the higher subtracts it (Bonawitz et al. 2017,
section 4), so that pads cancel in the sum over exactly this set. docs/decisions/0032-masks-in-a-group.md has
the rules under "Keys".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend.crypto.client_keys import agree, agreement_key
from backend.crypto.derive import hkdf
from backend.crypto.keystream import Sign
from backend.crypto.round_context import fields, integer


@dataclass(frozen=True, slots=True, kw_only=True)
class PadContext:
    """The group that pads are for; `bundle` is the SHA-256 of the task's bundle in hexadecimal."""

    task: str
    bundle: str
    round: int
    group: int


def common_key(private: bytes, public: bytes, own: int, other: int, context: PadContext) -> bytes:
    """Returns the key that the members at places `own` and `other` share, 32 bytes.

    `private` is the X25519 key of `own` in this group, `public` that of `other`. Raises BadKeyError for a key
    with which no agreement is possible.
    """
    publics = {own: agreement_key(private), other: public}
    salt = publics[min(own, other)] + publics[max(own, other)]
    bound = fields(
        b"minga/mesh/1/mask",
        context.task.encode(),
        bytes.fromhex(context.bundle),
        integer(context.round),
        integer(context.group),
    )
    return hkdf(agree(private, public), salt, bound)


def pads(
    own: int, common: Mapping[int, bytes], part: int, members: Sequence[int]
) -> list[tuple[bytes, Sign]]:
    """Returns keys and signs of the keystreams that `own` adds to its words of `part` for `members`.

    `members` are ascending places; `common` has the common keys, by place, of all of them but `own`.
    """
    bound = fields(b"minga/mesh/1/pad", struct.pack("<H", part), bytes([len(members)]), bytes(members))
    return [(hkdf(common[other], b"", bound), 1 if own < other else -1) for other in members if other != own]
