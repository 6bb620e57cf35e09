"""Seals the two shares that a client sends to a neighbour by AES-256-GCM; the server cannot read them."""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from backend.crypto.round_context import fields, place
from backend.crypto.shamir import SHARE_BYTES
from backend.errors import UnsealError

# A key seals a single message, so its nonce may be constant.
_NONCE = bytes(12)


def seal(
    key: bytes, context: bytes, sender: int, receiver: int, seed_share: bytes, mask_share: bytes
) -> bytes:
    """Returns the sealed shares of `sender`'s seed and private mask key for `receiver`, 80 bytes."""
    return AESGCM(key).encrypt(_NONCE, seed_share + mask_share, _bound(context, sender, receiver))


def unseal(key: bytes, context: bytes, sender: int, receiver: int, sealed: bytes) -> tuple[bytes, bytes]:
    """Returns the shares of `sender`'s seed and private mask key.

    Raises UnsealError for anything that `sender` did not seal for `receiver` in this round.
    """
    try:
        both = AESGCM(key).decrypt(_NONCE, sealed, _bound(context, sender, receiver))
    except InvalidTag:
        both = b""
    if len(both) != 2 * SHARE_BYTES:
        raise UnsealError(
            f"The shares of client {sender} were not sealed for this client; nothing of it is revealed."
        )
    return both[:SHARE_BYTES], both[SHARE_BYTES:]


def _bound(context: bytes, sender: int, receiver: int) -> bytes:
    return fields(context, place(sender), place(receiver))
