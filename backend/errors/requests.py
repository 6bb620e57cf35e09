"""Defines the errors that answer a request over HTTP: unknown, not allowed, or not now."""

from __future__ import annotations

from backend.errors.base import MingaError


class NotFoundError(MingaError):
    """No task, blob or version has that name."""

    code = "not-found"
    http_status = 404
    close_code = 4004


class BadRequestError(MingaError):
    """The address or the query cannot be parsed."""

    code = "bad-request"
    http_status = 400


class NotWantedError(MingaError):
    """The request does not fit the current state: it is outdated, unasked for, or its name is taken."""

    code = "not-wanted"
    http_status = 409


class SignInError(MingaError):
    """The request needs a signed-in account, or a sign-in failed."""

    code = "sign-in"
    http_status = 401
    close_code = 4001


class ForbiddenError(MingaError):
    """The account may not do or read what it requested."""

    code = "forbidden"
    http_status = 403
    close_code = 4003


class OrderError(MingaError):
    """The task cannot carry out its owner's command in its current state."""

    code = "wrong-state"
    http_status = 409


class GoneError(MingaError):
    """The weights of the version were deleted to save space."""

    code = "gone"
    http_status = 410


class WithheldError(MingaError):
    """The version is not offered, as it did not pass its integrity check, or has none yet."""

    code = "withheld"
    http_status = 403


class WrongTypeError(MingaError):
    """The body has another content type than the operation takes."""

    code = "wrong-type"
    http_status = 415


class WrongVersionError(MingaError):
    """The request speaks another version of a protocol than the server."""

    code = "wrong-version"
    http_status = 412


class RefusedFileError(MingaError):
    """An owner's file is refused; the text says why and what to upload instead."""

    code = "refused-file"
    http_status = 422


class NotReadyError(MingaError):
    """The draft cannot be launched yet; the text lists everything that is missing."""

    code = "not-ready"
    http_status = 409


class CancelledError(MingaError):
    """A user cancelled the job before it finished."""

    code = "cancelled"
    http_status = 409


class OverQuotaError(MingaError):
    """The request exceeds the owner's quota, or the free space of the server's disk."""

    code = "over-quota"
    http_status = 413
