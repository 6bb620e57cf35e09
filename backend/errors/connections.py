"""Defines the errors that end a client's connection, or keep it from taking part in a task."""

from __future__ import annotations

from backend.errors.base import MingaError


class FrameError(MingaError):
    """The frame is not a message of the protocol: garbage, unknown tag, wrong type, too long."""

    code = "bad-frame"
    http_status = 400
    close_code = 4000


class ReplacedError(MingaError):
    """The same client opened a second connection, which replaces the older one."""

    code = "replaced"
    http_status = 409
    close_code = 4009


class RemovedError(MingaError):
    """The task's owner removed the client; it may rejoin when its volunteer asks for it."""

    code = "removed"
    http_status = 403
    close_code = 4003


class BannedError(MingaError):
    """The task's owner banned the client."""

    code = "banned"
    http_status = 403
    close_code = 4003


class BannedByMembersError(MingaError):
    """The members of a Byzantine mesh banned the client's key."""

    code = "banned-by-members"
    http_status = 403
    close_code = 4003


class ClosedError(MingaError):
    """The task is archived, so no client can take part in it."""

    code = "closed"
    http_status = 409
    close_code = 4010


class UnfitError(MingaError):
    """The client does not support how the task aggregates updates; the text says what would work."""

    code = "unfit"
    http_status = 409
    close_code = 4006


class NotExactError(UnfitError):
    """The task needs the same bits from all clients, and this one computes by another program."""

    code = "not-exact"


class WorkRequiredError(MingaError):
    """The task asks newcomers for a proof of work, and this client gave none."""

    code = "work-required"
    http_status = 403
    close_code = 4003


class BadWorkError(MingaError):
    """A proof of work does not solve a valid challenge of this task for this client."""

    code = "bad-work"
    http_status = 403


class IdleError(MingaError):
    """The connection sent nothing when a message was due."""

    code = "idle"
    http_status = 408
    close_code = 4008


class BusyError(MingaError):
    """The server or the task has reached its limit of connections."""

    code = "busy"
    http_status = 503
    close_code = 4013


class TooFastError(MingaError):
    """The client opened more connections, or sent more frames or pings, than the rate limit allows."""

    code = "too-fast"
    http_status = 429
    close_code = 4029


class TooSlowError(MingaError):
    """The connection transfers less than the required minimum rate."""

    code = "too-slow"
    http_status = 408
    close_code = 4028


class TooLongError(MingaError):
    """The message exceeds the size limit, or has too many fragments."""

    code = "too-long"
    http_status = 413
    close_code = 1009
