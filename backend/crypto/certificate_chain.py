"""Chains certificates from a group that the server recorded to the weights that a peer shows.

The rule and its limits: docs/decisions/0060-chains-of-certificates.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, pairwise
from typing import TypeVar

from backend.crypto import client_keys
from backend.crypto.certificates import SignedWeights, Verify, certified
from backend.errors import CertificateError

# How far a certificate's round may be ahead of the recorded one: rounds without a result use up numbers.
MOST_ROUNDS_AHEAD = 1024

Link = TypeVar("Link", bound=SignedWeights)


@dataclass(frozen=True)
class GroupMembers:
    """The peers whose signatures count for what follows a group: Ed25519 keys by id, empty if unknown."""

    round: int
    group: int
    members: Mapping[str, bytes]

    def least(self, quorum: int) -> int:
        """Returns how many members must sign: more than half, and `quorum` or all."""
        count = len(self.members)
        return max(2, count // 2 + 1, min(quorum, count))

    def precedes(self, certificate: SignedWeights) -> bool:
        """Whether `certificate` is of a later round, or of the group itself."""
        is_own = (certificate.round, certificate.group) == (self.round, self.group)
        return is_own or certificate.round > self.round


def link(links: Sequence[Link], certificate: Link) -> list[Link]:
    """Returns the earlier certificates that prove `certificate`.

    `links` proved what the peer held before, oldest first. Certificates are left out if `certificate` already
    follows from an earlier one.
    """
    for index, earlier in enumerate(links):
        if _follows(certificate, earlier):
            return list(links[: index + 1])
    return list(links)


def _follows(certificate: SignedWeights, earlier: SignedWeights) -> bool:
    """Whether more than half of the survivors of `earlier` signed `certificate`, not too far ahead."""
    signers = {signed.client for signed in certificate.signatures} & set(earlier.survivors)
    is_near = certificate.round <= earlier.round + MOST_ROUNDS_AHEAD
    return is_near and 2 * len(signers) > len(earlier.survivors)


def follow(
    before: GroupMembers,
    certificates: Iterable[SignedWeights],
    task: str,
    quorum: int,
    newest: int,
    verify: Verify = client_keys.verify,
) -> GroupMembers:
    """Returns the members of the last certificate's group, if each certificate follows from the one before.

    Certificates of groups earlier than `before`, or beside it, may come first; they prove nothing. The first
    other one has to follow from `before`, the next one from that, each of a later round. `newest` is the last
    round that the server knows of. Raises CertificateError, also if there is no certificate that follows.
    """
    links = list(dropwhile(lambda certificate: not before.precedes(certificate), certificates))
    if not links:
        raise CertificateError(
            "These weights are not newer than what the server recorded. Take part in a round of the server."
        )
    if any(later.round <= earlier.round for earlier, later in pairwise(links)):
        raise CertificateError(
            "Each certificate of a chain has to be of a later round than the one before it. "
            "Take part in a round of the server."
        )
    for certificate in links:
        before = _next(before, certificate, task, quorum, newest, verify)
    return before


def _next(
    before: GroupMembers, certificate: SignedWeights, task: str, quorum: int, newest: int, verify: Verify
) -> GroupMembers:
    latest = max(before.round, newest) + MOST_ROUNDS_AHEAD
    if certificate.round > latest:
        raise CertificateError(
            f"Round {certificate.round} is too far ahead; {latest} would be the last that counts. "
            "Take part in a round of the server."
        )
    keys = {signed.client: signed.identity for signed in certificate.signatures}
    # Before any signature is verified: verifying what strangers signed would only cost time.
    signers = sum(before.members.get(client) == identity for client, identity in keys.items())
    if signers < (least := before.least(quorum)):
        raise CertificateError(
            f"{signers} of the {len(before.members)} peers that the server recorded signed these weights; "
            f"{least} must. Take part in a round of the server."
        )
    if not certified(certificate, task, verify):
        raise CertificateError(
            "A signature of these weights is not valid. Take part in a round of the server."
        )
    members = {client: before.members.get(client, keys.get(client, b"")) for client in certificate.survivors}
    return GroupMembers(certificate.round, certificate.group, members)
