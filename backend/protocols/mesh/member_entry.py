"""What a peer of a mesh says of itself when it enters, as the weights that it holds become others.

Pure functions; `protocol/mesh/member-entry.ts` is the mirror.
"""

from __future__ import annotations

from msgspec.structs import replace

from backend.protocols.mesh.member_events import GroupAveraged
from backend.wire.mesh_messages import Certificate, Enter, Trained


def fetched(enter: Enter, report: Trained) -> Enter:
    """Who trained holds what it trained from: a newcomer fetched that for its plan, and can hand it on."""
    if enter.holds == report.base:
        return enter
    return replace(enter, round=max(0, report.round - 1), holds=report.base, certificate=None)


def averaged(enter: Enter, event: GroupAveraged) -> Enter:
    """A group ended with other weights, which nobody has signed yet."""
    return replace(enter, round=event.round, holds=event.weights, certificate=None)


def certified(enter: Enter, certificate: Certificate) -> Enter:
    """More than half of the survivors signed weights: these, or others."""
    return replace(enter, certificate=certificate) if enter.holds == certificate.weights else enter


def without_foreign(enter: Enter, bundle: str) -> Enter:
    """Weights of another bundle are of no use; without a certificate nobody knows whose they are."""
    if enter.certificate is not None and enter.certificate.bundle == bundle:
        return enter
    return replace(enter, round=0, holds=None, certificate=None)
