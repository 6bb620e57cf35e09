"""Defines the errors of masked rounds, in which nothing is revealed and nothing unmasked."""

from __future__ import annotations

from collections.abc import Sequence

from backend.errors.base import MingaError


class MaskingError(MingaError):
    """Keys, shares or secrets of a masked round do not match: nothing is revealed, nothing unmasked."""

    code = "masking"
    http_status = 422


class BadKeyError(MaskingError):
    """The key agreement fails with this public key."""

    code = "bad-key"


class UnsealError(MaskingError):
    """Sealed shares are damaged, or were sealed by or for another client or in another round."""

    code = "unseal"


class ShareMismatchError(MaskingError):
    """No subset of a secret's shares reconstructs the secret that its owner committed to.

    `owners` are the places of the clients whose secrets are missing.
    """

    code = "share-mismatch"

    def __init__(self, owners: Sequence[int]) -> None:
        places = ", ".join(map(str, owners))
        super().__init__(
            f"The shares of the clients at places {places} do not recover their secrets; the round cannot "
            f"be unmasked, and nothing is revealed."
        )
        self.owners = tuple(owners)
