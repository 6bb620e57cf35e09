"""Certificates prove that a group made weights: more than half of its survivors signed them.

docs/reference/mesh.md, "Certificates". The caller checks that a signature's key belongs to the peer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from backend.crypto import client_keys
from backend.crypto.round_context import fields, integer

Verify = Callable[[bytes, bytes, bytes], bool]


class PeerSignature(Protocol):
    """A peer's signature; `backend.wire.mesh_messages.Signed` is one."""

    @property
    def client(self) -> str: ...
    @property
    def identity(self) -> bytes: ...
    @property
    def signature(self) -> bytes: ...


class SignedWeights(Protocol):
    """Weights with their signatures; `backend.wire.mesh_messages.Certificate` is one. Hashes are in hex."""

    @property
    def bundle(self) -> str: ...
    @property
    def run(self) -> str: ...
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
    task: str, bundle: str, run: str, number: int, group: int, survivors: Iterable[str], weights: str
) -> bytes:
    """Returns the bytes that each survivor of `group` in round `number` signs for its final `weights`.

    `bundle` and `weights` are SHA-256 in hexadecimal, `run` names the run of the task in as many digits.
    `survivors` are the ids of 16 digits in any order.
    """
    return fields(
        b"minga/mesh/1/weights",
        task.encode(),
        bytes.fromhex(bundle),
        bytes.fromhex(run),
        integer(number),
        integer(group),
        "".join(sorted(survivors)).encode(),
        bytes.fromhex(weights),
    )


def certified(certificate: SignedWeights, task: str, verify: Verify = client_keys.verify) -> bool:
    """Whether more than half of the survivors signed, each once, and all of these signatures are valid.

    `verify` says so of an identity's signature of a statement.
    """
    statement = weights_statement(
        task,
        certificate.bundle,
        certificate.run,
        certificate.round,
        certificate.group,
        certificate.survivors,
        certificate.weights,
    )
    survivors, signers = set(certificate.survivors), {signed.client for signed in certificate.signatures}
    if len(survivors) != len(certificate.survivors) or len(signers) != len(certificate.signatures):
        return False
    if not signers <= survivors or 2 * len(signers) <= len(survivors):
        return False
    return all(verify(signed.identity, signed.signature, statement) for signed in certificate.signatures)
