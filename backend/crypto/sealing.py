"""Seals the two shares that a client sends to a neighbour by AES-256-GCM, each under a key of its own.

The server cannot read them. A neighbour reveals a share as the key that opens it, so that the server sees
what the owner sealed: a neighbour cannot make up a share, nor an owner deny one.
"""

from __future__ import annotations

from enum import IntEnum

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from backend.crypto.round_context import fields, place
from backend.crypto.shamir import SHARE_BYTES
from backend.errors import UnsealError

# A key seals a single message, so its nonce may be constant.
_NONCE = bytes(12)
# A share and its tag.
SEALED_SHARE_BYTES = SHARE_BYTES + 16


class ShareKind(IntEnum):
    """The secret that a share is of; its place among the two sealed ones."""

    SEED = 0
    MASK_KEY = 1


def seal(
    keys: tuple[bytes, bytes],
    context: bytes,
    sender: int,
    receiver: int,
    seed_share: bytes,
    mask_share: bytes,
) -> bytes:
    """Returns the sealed shares of `sender`'s seed and private mask key for `receiver`, 96 bytes."""
    bound = fields(context, place(sender), place(receiver))
    pairs = zip(keys, (seed_share, mask_share), strict=True)
    return b"".join(AESGCM(key).encrypt(_NONCE, share, bound) for key, share in pairs)


def unseal(key: bytes, context: bytes, sender: int, receiver: int, sealed: bytes, kind: ShareKind) -> bytes:
    """Returns the share of `sender`'s secret `kind`, which `key` opens.

    Raises UnsealError for anything that `sender` did not seal for `receiver` under this key in this round.
    """
    start = kind * SEALED_SHARE_BYTES
    part = sealed[start : start + SEALED_SHARE_BYTES] if len(sealed) == 2 * SEALED_SHARE_BYTES else b""
    try:
        return AESGCM(key).decrypt(_NONCE, part, fields(context, place(sender), place(receiver)))
    except (InvalidTag, ValueError) as error:
        raise UnsealError(
            f"The shares of client {sender} were not sealed for this client; nothing is revealed."
        ) from error
