"""Defines the errors of headless peers and of the mesh between peers."""

from __future__ import annotations

from backend.errors.base import MingaError


class PeerError(MingaError):
    """A headless peer cannot take part: no TensorFlow, no such task, no server, data that do not fit."""

    code = "peer"
    http_status = 400


class UnreachableError(PeerError):
    """The server did not answer; a later retry may succeed."""

    code = "unreachable"
    http_status = 503


class LinkError(MingaError):
    """Two peers of a mesh cannot connect, or their link carried an invalid message."""

    code = "link"
    http_status = 502


class GroupError(MingaError):
    """A mesh group ended without a result for this peer, which keeps the weights that it trained."""

    code = "group"
    http_status = 409


class EvidenceError(MingaError):
    """What is presented as evidence against a member of a mesh does not convict it."""

    code = "evidence"
    http_status = 422
