"""What shows that weights are a group's: signatures of more than half of those who ended with them.

docs/reference/mesh.md, "Certificates". Whether a signature's key is that peer's, the caller knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from backend.crypto.client_keys import verify
from backend.crypto.round_context import fields, integer


class PeerSignature(Protocol):
    """A peer's signature; `backend.wire.mesh_messages.Signed` is one."""

    @property
    def client(self) -> str: ...
    @property
    def identity(self) -> bytes: ...
    @property
    def signature(self) -> bytes: ...


class SignedWeights(Protocol):
    """`backend.wire.mesh_messages.Certificate` is one. Hashes are in hexadecimal."""

    @property
    def bundle(self) -> str: ...
    @property
    def round(self) -> int: ...
    @property
    def group(self) -> int: ...
    @property
    def weights(self) -> str: ...
    @property
    def survivors(self) -> Sequence[str]: ...
    @property
    def signatures(self) -> Sequence[PeerSignature]: ...


def weights_statement(
    task: str, bundle: str, number: int, group: int, survivors: Iterable[str], weights: str
) -> bytes:
    """What each survivor of `group` in round `number` signs: `weights` are what they all ended with.

    `bundle` and `weights` are SHA-256 in hexadecimal, `survivors` the ids of 16 digits in any order.
    """
    return fields(
        b"minga/mesh/1/weights",
        task.encode(),
        bytes.fromhex(bundle),
        integer(number),
        integer(group),
        "".join(sorted(survivors)).encode(),
        bytes.fromhex(weights),
    )


def certified(certificate: SignedWeights, task: str) -> bool:
    """Whether more than half of the survivors signed, each once, and all of these signatures are right."""
    statement = weights_statement(
        task,
        certificate.bundle,
        certificate.round,
        certificate.group,
        certificate.survivors,
        certificate.weights,
    )
    survivors, signers = set(certificate.survivors), {one.client for one in certificate.signatures}
    if len(survivors) != len(certificate.survivors) or len(signers) != len(certificate.signatures):
        return False
    if not signers <= survivors or 2 * len(signers) <= len(survivors):
        return False
    return all(verify(one.identity, one.signature, statement) for one in certificate.signatures)
