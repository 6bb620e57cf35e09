"""Defines the tree of errors: each leaf has a wire code, an HTTP status and a text with a remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class MingaError(Exception):
    """Root of every error that Minga raises on purpose; `str(error)` is a sentence for people."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    close_code: ClassVar[int] = 4000


class FrameError(MingaError):
    """The frame is not a message of the protocol: garbage, unknown tag, wrong type, too long."""

    code = "bad-frame"
    http_status = 400
    close_code = 4000


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


class WrongTypeError(MingaError):
    """The body has another content type than the operation takes."""

    code = "wrong-type"
    http_status = 415


class WrongVersionError(MingaError):
    """The request speaks another version of a protocol than the server."""

    code = "wrong-version"
    http_status = 412


class TaskFileError(MingaError):
    """The task.toml is invalid; the text names the field and what to write instead."""

    code = "bad-task"
    http_status = 400


class BundleError(MingaError):
    """The bundle is damaged, incomplete, or uses an op outside the allow-list."""

    code = "bad-bundle"
    http_status = 400


class DataError(MingaError):
    """The data do not match their declaration; the text names file, row or column and what to do."""

    code = "bad-data"
    http_status = 400


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


class StoreError(MingaError):
    """Records or files could not be read or written (disk full, read-only, corrupted)."""

    code = "store"
    http_status = 503


class FinalStoreError(StoreError):
    """The store answered, and no retry can succeed."""


class RecordedBeforeError(FinalStoreError):
    """The round or version is recorded already."""


class TakenOverError(FinalStoreError):
    """Another server began with the parameters of this task, which this one may not write any more."""


class UpdateRefusedError(MingaError):
    """The update is refused. Only the update: the round continues and the client stays connected."""

    code = "refused"
    http_status = 422


class WrongLengthError(UpdateRefusedError):
    """The update has more, fewer or misplaced bytes compared with the model's flat vector."""

    code = "wrong-length"


class SlowUploadError(UpdateRefusedError):
    """The upload of the update stalled, or is too slow."""

    code = "too-slow"


class NotFiniteError(UpdateRefusedError):
    """The update, its loss or its metrics contain NaN or infinity."""

    code = "not-finite"


class MissingCommitmentError(UpdateRefusedError):
    """A client that told its program sent a result without a commitment."""

    code = "no-commitment"


class MissingVectorError(UpdateRefusedError):
    """The salt of a commitment came, but not the vector that was committed to."""

    code = "no-vector"


class WrongSaltError(UpdateRefusedError):
    """A salt that does not fit the vector that was sent, and its commitment."""

    code = "wrong-salt"


class WrongCommitmentError(UpdateRefusedError):
    """A vector that does not fit its commitment, whose salt was told before."""

    code = "wrong-commitment"


class NormTooLargeError(UpdateRefusedError):
    """The update's L2 norm exceeds the task's bound."""

    code = "norm-too-large"


class BadExamplesError(UpdateRefusedError):
    """The example count is below one, or above what the plan assigned."""

    code = "bad-examples"


class StaleRoundError(UpdateRefusedError):
    """The update is for a round that has ended or was never opened."""

    code = "stale-round"


class NotSelectedError(UpdateRefusedError):
    """The client that sent the update is not in this round's cohort."""

    code = "not-selected"


class DuplicateError(UpdateRefusedError):
    """The client sent a second update in the same round."""

    code = "duplicate"


class NotMaskedError(UpdateRefusedError):
    """A client's message of a masked round is missing, late or wrong; its update could not be unmasked."""

    code = "not-masked"


class CertificateError(UpdateRefusedError):
    """A mesh peer shows weights whose certificate does not follow from what the server recorded."""

    code = "bad-certificate"


class FalseSharesError(UpdateRefusedError):
    """A client's shares kept a masked round from being unmasked; the next ones do without the client."""

    code = "false-shares"


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


class SiteError(MingaError):
    """The documentation's pages cannot be built; the text says which page is wrong."""

    code = "bad-site"


class PeerError(MingaError):
    """A headless peer cannot take part: no TensorFlow, no such task, no server, data that do not fit."""

    code = "peer"
    http_status = 400


class LinkError(MingaError):
    """Two peers of a mesh cannot connect, or their link carried an invalid message."""

    code = "link"
    http_status = 502


class GroupError(MingaError):
    """A mesh group ended without a result for this peer, which keeps the weights that it trained."""

    code = "group"
    http_status = 409


class SettingsError(MingaError):
    """A flag or environment variable is invalid; the text says what to give instead."""

    code = "bad-settings"
    http_status = 500


class UnreachableError(PeerError):
    """The server did not answer; a later retry may succeed."""

    code = "unreachable"
    http_status = 503


class DemoError(MingaError):
    """A process of the demonstration did not start, or exited by itself."""

    code = "demo"
