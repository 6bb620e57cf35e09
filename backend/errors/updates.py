"""Defines the errors that refuse an update, while the round continues, and one that ends a round."""

from __future__ import annotations

from backend.errors.base import MingaError


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


class AggregationError(MingaError):
    """The rule of a round made no aggregate of its updates; the round is abandoned."""

    code = "aggregation"
    http_status = 422
