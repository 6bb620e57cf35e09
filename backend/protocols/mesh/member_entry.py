"""Updates a mesh peer's `enter` frame when the weights that it holds change.

Pure functions; the twin is `protocol/mesh/member-entry.ts`.
"""

from __future__ import annotations

from msgspec.structs import replace

from backend.crypto.certificate_chain import link
from backend.protocols.mesh.member_events import GroupAveraged
from backend.protocols.mesh.serverless.last_round import FIRST_SERVERLESS_GROUP
from backend.wire.mesh_fields import MOST_IN_CHAIN
from backend.wire.mesh_messages import Certificate, Enter, Trained


def with_fetched_weights(enter: Enter, report: Trained) -> Enter:
    """Returns `enter` with the weights the peer trained from, which it fetched and can send to others."""
    if enter.holds == report.base:
        return enter
    return replace(enter, round=max(0, report.round - 1), holds=report.base, certificate=None, chain=[])


def with_averaged_weights(enter: Enter, event: GroupAveraged) -> Enter:
    """Returns `enter` with the weights of a group's result, which no peer has signed yet.

    What follows from a group of the server needs no earlier certificate.
    """
    led_by_server = event.group < FIRST_SERVERLESS_GROUP
    chain = [] if led_by_server or enter.certificate is None else [*enter.chain, enter.certificate]
    return replace(enter, round=event.round, holds=event.weights, certificate=None, chain=chain)


def with_certificate(enter: Enter, certificate: Certificate) -> Enter:
    """Returns `enter` with a certificate, if it certifies the weights that the peer holds.

    A chain that gets too long begins too late for the server, which then continues from its own records.
    """
    if enter.holds != certificate.weights:
        return enter
    if enter.certificate is not None:
        return replace(enter, certificate=certificate)
    return replace(enter, certificate=certificate, chain=link(enter.chain, certificate)[-MOST_IN_CHAIN:])


def without_foreign(enter: Enter, bundle: str, run: str) -> Enter:
    """Returns `enter` without weights of another bundle or run; uncertified weights have no known one."""
    certificate = enter.certificate
    if certificate is not None and (certificate.bundle, certificate.run) == (bundle, run):
        return enter
    return replace(enter, round=0, holds=None, certificate=None, chain=[])
