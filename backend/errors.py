"""One tree of errors. Each leaf has a wire code, an HTTP status and a text that says what to do next."""

from __future__ import annotations

from typing import ClassVar


class MingaError(Exception):
    """Root of every error that Minga raises on purpose; `str(error)` is a sentence for people."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    close_code: ClassVar[int] = 4000


class FrameError(MingaError):
    """A frame that is not a message of the protocol: garbage, unknown tag, wrong type, too long."""

    code = "bad-frame"
    http_status = 400
    close_code = 4000


class NotFoundError(MingaError):
    """No task, blob or version of that name."""

    code = "not-found"
    http_status = 404
    close_code = 4004


class BadRequestError(MingaError):
    """An address or a query that cannot be understood."""

    code = "bad-request"
    http_status = 400


class NotWantedError(MingaError):
    """Something that is brought, but that nobody asks for (any more)."""

    code = "not-wanted"
    http_status = 409


class SignInError(MingaError):
    """Something for which one has to sign in, or a sign-in that failed."""

    code = "sign-in"
    http_status = 401
    close_code = 4001


class ForbiddenError(MingaError):
    """Something that is not for this reader."""

    code = "forbidden"
    http_status = 403
    close_code = 4003


class OrderError(MingaError):
    """Something that a task's owner asks for, but that it cannot do in its state."""

    code = "wrong-state"
    http_status = 409


class GoneError(MingaError):
    """A version whose weights were let go to save space."""

    code = "gone"
    http_status = 410


class ReplacedError(MingaError):
    """The same client connected again; the older connection gives way."""

    code = "replaced"
    http_status = 409
    close_code = 4009


class RemovedError(MingaError):
    """A client that the task's owner sent away; it may come back when its volunteer asks for it."""

    code = "removed"
    http_status = 403
    close_code = 4003


class BannedError(MingaError):
    """A client that the task's owner lets in no more."""

    code = "banned"
    http_status = 403
    close_code = 4003


class ClosedError(MingaError):
    """A task that is archived: nobody takes part in it."""

    code = "closed"
    http_status = 409
    close_code = 4010


class UnfitError(MingaError):
    """A client and a task that cannot agree how updates are added up; the text says what would work."""

    code = "unfit"
    http_status = 409
    close_code = 4006


class IdleError(MingaError):
    """A connection that said nothing when something was due."""

    code = "idle"
    http_status = 408
    close_code = 4008


class BusyError(MingaError):
    """A limit on connections is reached."""

    code = "busy"
    http_status = 503
    close_code = 4013


class TooFastError(MingaError):
    """More connections, frames or pings than one may send in a time."""

    code = "too-fast"
    http_status = 429
    close_code = 4029


class TooSlowError(MingaError):
    """A connection over which less moves than the least that is asked of everybody."""

    code = "too-slow"
    http_status = 408
    close_code = 4028


class TooLongError(MingaError):
    """A message over the limit, or in too many fragments."""

    code = "too-long"
    http_status = 413
    close_code = 1009


class TaskFileError(MingaError):
    """A task.toml that cannot be used; the text names the field and what to write instead."""

    code = "bad-task"
    http_status = 400


class BundleError(MingaError):
    """A bundle that is damaged, incomplete, or asks for an op outside the allow-list."""

    code = "bad-bundle"
    http_status = 400


class DataError(MingaError):
    """Data that cannot be used as it is declared; the text names file, row or column and what to do."""

    code = "bad-data"
    http_status = 400


class RefusedFileError(MingaError):
    """A file of an owner that is not taken; the text says why and what to bring instead."""

    code = "refused-file"
    http_status = 422


class NotReadyError(MingaError):
    """A draft that cannot be launched yet; the text says all that is left to do."""

    code = "not-ready"
    http_status = 409


class CancelledError(MingaError):
    """Work that somebody ended before it was done."""

    code = "cancelled"
    http_status = 409


class OverQuotaError(MingaError):
    """More than one owner may have here, or than the server's disk can hold."""

    code = "over-quota"
    http_status = 413


class StoreError(MingaError):
    """Records or files could not be read or written (disk full, read-only, corrupted)."""

    code = "store"
    http_status = 503


class RecordedBeforeError(StoreError):
    """A round or version that is recorded already; trying again helps nobody."""


class UpdateRefusedError(MingaError):
    """An update that does not count. Refused alone: the round goes on and the client stays connected."""

    code = "refused"
    http_status = 422


class WrongLengthError(UpdateRefusedError):
    """More, fewer or misplaced bytes than the model's flat vector has."""

    code = "wrong-length"


class SlowUploadError(UpdateRefusedError):
    """An update of which no more comes, or too little."""

    code = "too-slow"


class NotFiniteError(UpdateRefusedError):
    """NaN or infinity in the update, its loss or its metrics."""

    code = "not-finite"


class NormTooLargeError(UpdateRefusedError):
    """The update's L2 norm is over the task's bound."""

    code = "norm-too-large"


class BadExamplesError(UpdateRefusedError):
    """An example count below one or above what the plan handed out."""

    code = "bad-examples"


class StaleRoundError(UpdateRefusedError):
    """An update for a round that is over or was never opened."""

    code = "stale-round"


class NotSelectedError(UpdateRefusedError):
    """An update from a client that is not in this round's cohort."""

    code = "not-selected"


class DuplicateError(UpdateRefusedError):
    """A second update of one client in one round."""

    code = "duplicate"


class NotMaskedError(UpdateRefusedError):
    """A client's part of a masked round is missing, late or wrong; its update could not be unmasked."""

    code = "not-masked"


class MaskingError(MingaError):
    """Keys, shares or secrets of a masked round that do not fit: nothing is revealed, nothing unmasked."""

    code = "masking"
    http_status = 422


class BadKeyError(MaskingError):
    """A public key with which no secret can be agreed on."""

    code = "bad-key"


class UnsealError(MaskingError):
    """Sealed shares that are damaged, or were sealed by or for somebody else or in another round."""

    code = "unseal"


class ShareMismatchError(MaskingError):
    """No choice among the shares of a secret gives one that fits what its owner said of it at first."""

    code = "share-mismatch"


class SiteError(MingaError):
    """Documentation from which no pages can be made; the text says which page is wrong."""

    code = "bad-site"


class PeerError(MingaError):
    """A headless peer cannot take part: no TensorFlow, no such task, no server, data that does not fit."""

    code = "peer"
    http_status = 400


class LinkError(MingaError):
    """Two peers of a mesh cannot link, or what came over their link is not of it."""

    code = "link"
    http_status = 502


class GroupError(MingaError):
    """A group of a mesh ended without a result for this peer, which keeps the weights that it trained."""

    code = "group"
    http_status = 409


class SettingsError(MingaError):
    """A flag or environment variable that cannot be used; the text says what to give instead."""

    code = "bad-settings"
    http_status = 500


class UnreachableError(PeerError):
    """The server did not answer; trying again later may help."""

    code = "unreachable"
    http_status = 503


class DemoError(MingaError):
    """A part of the demonstration did not come up or ended by itself."""

    code = "demo"
