"""Results of clients that told their program: committed to first, and sent only where no equal one is here.

Clients with one program get the same bits, so that a replica needs no upload: by the salt of its commitment
the server finds out whether its vector is the one that is here already.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backend.crypto.result_commitments import result_commitment
from backend.errors import (
    MissingCommitmentError,
    MissingVectorError,
    SlowUploadError,
    UpdateRefusedError,
    WrongCommitmentError,
    WrongSaltError,
)
from backend.numerics.vectors import Vector, to_bytes
from backend.protocols.units.scheduler_effects import ClientId, Effect, LeaseId
from backend.server.units.results.result_uploads import ResultUploads
from backend.server.units.state import UnitsState
from backend.wire import unit_messages

# Clients answer `open` at once; after so long a result is dropped.
SALT_SECONDS = 30.0


@dataclass
class CommittedResult:
    """A result with a commitment. Its salt is `due` once its `update` [P], or another one, is here.

    `salt` is set where that showed that the other one differs, so that the vector is needed.
    """

    client: ClientId
    result: unit_messages.Result
    update: Vector | None = None
    salt: str | None = None
    due: float | None = None

    def fits(self, salt: str, update: Vector) -> bool:
        """Whether salt and vector make the commitment."""
        lease, claimed = self.result.lease, self.result.commitment or ""
        made = result_commitment(bytes.fromhex(salt), self.client, lease, to_bytes(update))
        return hmac.compare_digest(made.hex(), claimed)


class CommittedResults:
    """Owns the results that wait for a vector or a salt; passes those that fit their commitment to `accept`.

    A result that does not fit is refused, and its lease stays open.
    """

    def __init__(
        self,
        state: UnitsState,
        uploads: ResultUploads,
        accept: Callable[[ClientId, unit_messages.Result, Vector, float], Sequence[Effect]],
    ) -> None:
        self._state = state
        self._uploads = uploads
        self._accept = accept
        self._waiting: dict[LeaseId, CommittedResult] = {}

    def offered(self, client: ClientId, result: unit_messages.Result, now: float) -> None:
        """Takes an offer: asks for its salt if another result of the unit is here, else for its vector."""
        self.drop(result.lease)
        self._uploads.drop_upload(client, result.lease)
        if result.commitment is None:
            text = "A result of this program needs a commitment. Reload the page, or update Minga."
            self._refuse(client, result.lease, MissingCommitmentError(text))
            return
        waiting = self._waiting[result.lease] = CommittedResult(client, result)
        if self._other(result) is None:
            self._uploads.begin_upload(client, result, now)
        else:
            self._ask_for_salt(waiting, now)

    def uploaded(self, lease: LeaseId, update: Vector, now: float) -> Sequence[Effect]:
        """Takes a complete vector; asks for its salt if that was not told yet."""
        waiting = self._waiting[lease]
        waiting.update = update
        if waiting.salt is None:
            self._ask_for_salt(waiting, now)
            return []
        text = "The vector does not match its commitment."
        return self._checked(waiting, waiting.salt, update, WrongCommitmentError(text), now)

    def salt_told(self, client: ClientId, told: unit_messages.Salt, now: float) -> Sequence[Effect]:
        """Takes the salt of a commitment: accepts an equal result, or asks for the vector that differs."""
        waiting = self._waiting.get(told.lease)
        if waiting is None or waiting.client != client or waiting.salt is not None:
            return []  # Nobody asked for it, or it was told before.
        if self._state.leases.get(told.lease) is None:
            self.drop(told.lease)
            return []  # Its epoch is over.
        if waiting.due is None:
            self.drop(told.lease)
            self._uploads.drop_upload(client, told.lease)
            text = "The salt of a commitment arrived without its vector."
            self._refuse(client, told.lease, MissingVectorError(text))
            return []
        if waiting.update is not None:
            text = "The salt does not match the vector and its commitment."
            return self._checked(waiting, told.salt, waiting.update, WrongSaltError(text), now)
        other = self._other(waiting.result)
        if other is not None and waiting.fits(told.salt, other):
            self.drop(told.lease)
            return self._accept(client, waiting.result, other, now)
        waiting.salt, waiting.due = told.salt, None
        self._uploads.begin_upload(client, waiting.result, now)
        return []

    def drop(self, lease: LeaseId) -> None:
        """Drops the received data of a result, if any."""
        self._waiting.pop(lease, None)

    def timer(self) -> float | None:
        """Returns when the next salt is due; None if none is asked for."""
        return min((one.due for one in self._waiting.values() if one.due is not None), default=None)

    def time_passed(self, now: float) -> None:
        """Drops results whose salt did not come in time."""
        for lease, waiting in list(self._waiting.items()):
            if waiting.due is not None and waiting.due <= now:
                self.drop(lease)
                text = "The salt of the commitment did not come in time. Try a better connection."
                self._refuse(waiting.client, lease, SlowUploadError(text))

    def _ask_for_salt(self, waiting: CommittedResult, now: float) -> None:
        waiting.due = now + SALT_SECONDS
        self._state.connected.tell(waiting.client, unit_messages.OpenCommitment(lease=waiting.result.lease))

    def _checked(
        self, waiting: CommittedResult, salt: str, update: Vector, error: UpdateRefusedError, now: float
    ) -> Sequence[Effect]:
        self.drop(waiting.result.lease)
        if waiting.fits(salt, update):
            return self._accept(waiting.client, waiting.result, update, now)
        self._refuse(waiting.client, waiting.result.lease, error)
        return []

    def _refuse(self, client: ClientId, lease: LeaseId, error: UpdateRefusedError) -> None:
        self._uploads.reject(client, lease, error.code, str(error))

    def _other(self, result: unit_messages.Result) -> Vector | None:
        """Returns another vector of the unit, made with the same program and steps; None if none is here."""
        work = self._state.leases[result.lease]
        for lease in self._state.leases.of_unit(work.grant.unit):
            other = self._state.leases[lease]
            if other is work or other.result is None or other.fault is not None:
                continue
            alike = other.program == work.program and other.result.steps == result.steps
            if alike and other.update is not None:
                return other.update
        return None
