"""What happens to a task, brought before its machine: frames of clients, and results of jobs."""

from __future__ import annotations

from itertools import chain

from backend.errors import ReplacedError, UpdateRefusedError, WrongLengthError
from backend.numerics.checks import check_finite
from backend.protocols import effects as do
from backend.services import observer as happened
from backend.services.hosted import Hosted
from backend.services.links import Client, Link
from backend.stores.contracts import EvaluationRecord, VersionRecord
from backend.wire import messages as say


class Reception:
    """Turns each event into calls of the machine. Every method returns the effects to be performed."""

    def __init__(self, hosted: Hosted) -> None:
        self._at = hosted

    # Clients.

    def joined(self, client: Client, now: float) -> list[do.Effect]:
        """Somebody said hello; an older connection of the same client gives way."""
        effects: list[do.Effect] = []
        older = self._at.audience.clients.get(client.id)
        if older is not None:
            older.link.close(ReplacedError("You opened this task elsewhere; that connection goes on."))
            effects += self.left(client.id, older.link, now, lost=True)
        self._at.audience.add(client)
        welcome = say.Welcome(
            task=self._at.task.file.name,
            client=client.id,
            bundle=self._at.task.bundle.address,
            chunk_bytes=self._at.limits.chunk_bytes,
        )
        self._at.audience.tell(client.id, welcome)
        self._at.audience.welcome(client.id, now)
        self._at.notice(happened.ClientJoined(client.id, client.kind, client.backend))
        return effects + self._at.machine.client_joined(client.id)

    def left(self, client: str, link: Link, now: float, lost: bool) -> list[do.Effect]:
        """A client said goodbye, or its connection was `lost`."""
        if not self._is_current(client, link):
            return []
        del self._at.audience.clients[client]
        self._at.notice(happened.ClientLeft(client, lost))
        if self._at.uploads.receiving(client):
            self._at.audience.tell_credits(self._at.uploads.drop(client, now))
        return self._at.machine.client_left(client, now, lost)

    def heard(self, client: str, link: Link, message: say.ClientFrame, now: float) -> list[do.Effect]:
        """A client said something after its hello."""
        if not self._is_current(client, link):
            return []  # It was replaced, or left, while this was under way.
        match message:
            case say.Ready():
                known = self._at.audience.clients[client]
                known.backend = message.backend
                self._at.audience.add(known)
                return self._at.machine.client_ready(client, now, message.step_ms, message.examples)
            case say.Offer():
                return self._offered(client, message, now)
            case say.Chunk():
                return self._chunk(client, message, now)
            case say.Evaluation():
                return self._at.machine.evaluation_arrived(client, message, now)
            case say.Leave():
                return self.left(client, link, now, lost=False)
            case say.Hello():
                return []  # The shell lets one hello through, before all else.

    def _offered(self, client: str, offer: say.Offer, now: float) -> list[do.Effect]:
        effects = self._at.machine.update_offered(client, offer, now)
        if any(isinstance(effect, do.Grant) for effect in effects):
            try:
                check_finite("loss", [offer.loss])
                check_finite("list of metric sums", chain.from_iterable(offer.sums))
            except UpdateRefusedError as error:
                return self._at.machine.update_failed(client, offer.round, error, now)
        return effects

    def _chunk(self, client: str, chunk: say.Chunk, now: float) -> list[do.Effect]:
        try:
            complete, credits = self._at.uploads.chunk(client, chunk, now)
        except WrongLengthError as error:
            self._at.audience.tell_credits(self._at.uploads.drop(client, now))
            return self._at.machine.update_failed(client, chunk.round, error, now)
        self._at.audience.tell_credits(credits)
        return self._at.machine.update_arrived(client, chunk.round, now) if complete else []

    def chunk_taken(self, client: str, link: Link, chunk: say.Chunk, now: float) -> bool:
        """Stores a chunk that is due and not an update's last: nothing to the machine. Whether it was one."""
        credits = self._at.uploads.further(client, chunk, now) if self._is_current(client, link) else None
        if credits is None:
            return False
        self._at.audience.tell_credits(credits)
        return True

    def _is_current(self, client: str, link: Link) -> bool:
        known = self._at.audience.clients.get(client)
        return known is not None and known.link is link

    # Jobs.

    def complete(self, client: str, offer: say.Offer, now: float) -> list[do.Effect]:
        """All values of an update are here, and were looked at as they came."""
        try:
            update = self._at.uploads.update(client, self._at.task.file.security.max_update_norm)
        except UpdateRefusedError as error:
            effects = self._at.machine.update_failed(client, offer.round, error, now)
        else:
            effects = self._at.machine.update_checked(client, offer.round, now)
            if any(isinstance(effect, do.Accept) and effect.client == client for effect in effects):
                self._at.checked[client] = update
                return effects
        return self.added(client, offer, now) + effects

    def added(self, client: str, offer: say.Offer, now: float) -> list[do.Effect]:
        """The bytes of an update are not needed any more: it is in the aggregate, or refused."""
        self._at.audience.tell_credits(self._at.uploads.done(client, offer.round, now))
        return []

    def version_made(self, version: VersionRecord, now: float) -> list[do.Effect]:
        """The next version is recorded."""
        self._at.audience.tell_all(
            say.Version(
                version=version.version,
                round=version.round,
                weights=version.weights,
                accepted=version.accepted,
                examples=version.examples,
                loss=version.loss or 0.0,
                metrics=version.metrics,
            )
        )
        return self._at.machine.aggregated(version.version, now)

    def version_failed(self, reason: str, now: float) -> list[do.Effect]:
        """The next version could not be made or recorded."""
        return self._at.machine.aggregation_failed(reason, now)

    def evaluated(self, found: EvaluationRecord, _now: float) -> list[do.Effect]:
        """A version was measured on the held-out shards."""
        self._at.audience.tell_all(
            say.Evaluated(version=found.version, source=found.source, loss=found.loss, metrics=found.metrics)
        )
        self._at.notice(happened.VersionEvaluated(found))
        return self._at.machine.version_evaluated(found.version, found.source, found.loss, found.metrics)
