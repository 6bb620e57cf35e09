"""What happens to a task, brought before its machine: frames of clients, and results of jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from backend.errors import MingaError, ReplacedError, UpdateRefusedError, WrongLengthError
from backend.numerics.aggregation.update_checks import check_finite
from backend.numerics.vectors import Vector
from backend.protocols.rounds import round_effects
from backend.server.hosting import task_frames
from backend.server.hosting.client_link import ClientLink, ConnectedClient
from backend.server.observers import task_events
from backend.server.rounds.state import Effect, RoundState
from backend.stores.contracts import EvaluationRecord, VersionRecord
from backend.wire import messages


class RoundEventHandler:
    """Turns each event into calls of the machine. Every method returns the effects to be performed."""

    def __init__(self, hosted: RoundState) -> None:
        self._at = hosted

    # Clients.

    def joined(self, client: ConnectedClient, now: float) -> list[Effect]:
        """Somebody said hello; an older connection of the same client gives way."""
        effects: list[Effect] = []
        older = self._at.audience.clients.get(client.id)
        if older is not None:
            older.link.close(ReplacedError("You opened this task elsewhere; that connection goes on."))
            effects += self.left(client.id, older.link, now, lost=True)
        self._at.audience.add(client)
        welcome = messages.Welcome(
            task=self._at.task.file.name,
            client=client.id,
            bundle=self._at.task.bundle.address,
            chunk_bytes=self._at.limits.chunk_bytes,
            aggregation=client.aggregation,
        )
        self._at.audience.tell(client.id, welcome)
        self._at.audience.welcome(client.id, now)
        self._at.notice(task_events.ClientJoined(client.id, client.kind, client.backend))
        self._at.machine.client_joined(client.id, client.aggregation)
        return effects

    def left(self, client: str, link: ClientLink, now: float, lost: bool) -> list[Effect]:
        """A client said goodbye, or its connection was `lost`."""
        if not self._is_current(client, link):
            return []
        del self._at.audience.clients[client]
        self._at.notice(task_events.ClientLeft(client, lost))
        if self._at.uploads.receiving(client):
            self._at.audience.tell_credits(self._at.uploads.drop(client, now))
        masked = self._at.masked.client_left(client, now, lost) if self._at.masked else []
        return [*self._at.machine.client_left(client, now, lost), *masked]

    def sent_away(self, clients: Collection[str] | None, error: MingaError, now: float) -> list[Effect]:
        """The owner wants no connection with these."""
        effects: list[Effect] = []
        for client in list(self._at.audience.clients) if clients is None else clients:
            here = self._at.audience.clients.get(client)
            if here is not None:
                here.link.close(error)
                effects += self.left(client, here.link, now, lost=False)
        return effects

    def heard(
        self, client: str, link: ClientLink, message: messages.ClientFrame, now: float
    ) -> Sequence[Effect]:
        """A client said something after its hello."""
        if not self._is_current(client, link):
            return []  # It was replaced, or left, while this was under way.
        match message:
            case messages.Ready():
                known = self._at.audience.clients[client]
                known.backend = message.backend
                self._at.audience.add(known)
                again = self._at.machine.client_ready(client, now, message.step_ms, message.examples)
                return [*again, *(self._at.masked.client_ready(client) if self._at.masked else [])]
            case messages.Offer():
                return self._offered(client, message, now)
            case messages.Chunk():
                return self._chunk(client, message, now)
            case messages.Evaluation():
                return self._at.machine.evaluation_arrived(client, message, now)
            case messages.Leave():
                return self.left(client, link, now, lost=False)
            case messages.Hello():
                return []  # The shell lets one hello through, before all else.
            case (
                messages.Keys()
                | messages.Shares()
                | messages.Vouch()
                | messages.Reveal()
                | messages.Decline()
            ):
                return self._heard_of_masks(client, message, now)

    def _heard_of_masks(
        self,
        client: str,
        message: messages.Keys | messages.Shares | messages.Vouch | messages.Reveal | messages.Decline,
        now: float,
    ) -> Sequence[Effect]:
        masked = self._at.masked
        if masked is None:
            return []
        match message:
            case messages.Keys():
                return masked.keys_arrived(client, message, now)
            case messages.Shares():
                return masked.shares_arrived(client, message, now)
            case messages.Vouch():
                return masked.vouch_arrived(client, message, now)
            case messages.Reveal():
                return masked.reveal_arrived(client, message, now)
            case messages.Decline():
                return masked.declined(client, message, now)

    def _offered(self, client: str, offer: messages.Offer, now: float) -> list[round_effects.Effect]:
        effects = self._at.machine.update_offered(client, offer, now)
        if any(isinstance(effect, round_effects.GrantUpload) for effect in effects):
            if self._at.masked and (objection := self._at.masked.may_offer(client)):
                return self._at.machine.update_failed(client, offer.round, objection, now)
            try:
                check_finite("loss", [offer.loss])
                check_finite("list of metric sums", chain.from_iterable(offer.sums))
            except UpdateRefusedError as error:
                return self._at.machine.update_failed(client, offer.round, error, now)
        return effects

    def _chunk(self, client: str, chunk: messages.Chunk, now: float) -> list[round_effects.Effect]:
        self._at.audience.clients[client].received += len(chunk.data)
        try:
            complete, credits = self._at.uploads.chunk(client, chunk, now)
        except WrongLengthError as error:
            self._at.audience.tell_credits(self._at.uploads.drop(client, now))
            return self._at.machine.update_failed(client, chunk.round, error, now)
        self._at.audience.tell_credits(credits)
        return self._at.machine.update_arrived(client, chunk.round, now) if complete else []

    def chunk_taken(self, client: str, link: ClientLink, chunk: messages.Chunk, now: float) -> bool:
        """Stores a chunk that is due and not an update's last: nothing to the machine. Whether it was one."""
        credits = self._at.uploads.further(client, chunk, now) if self._is_current(client, link) else None
        if credits is None:
            return False
        self._at.audience.clients[client].received += len(chunk.data)
        self._at.audience.tell_credits(credits)
        return True

    def _is_current(self, client: str, link: ClientLink) -> bool:
        known = self._at.audience.clients.get(client)
        return known is not None and known.link is link

    # Jobs.

    def complete(self, client: str, offer: messages.Offer, now: float) -> list[round_effects.Effect]:
        """All values of an update are here, and were looked at as they came."""
        update: Vector | memoryview
        try:
            if self._at.masked is not None:
                update = self._at.uploads.words(client)
            else:
                update = self._at.uploads.update(client, self._at.task.file.security.max_update_norm)
        except UpdateRefusedError as error:
            effects = self._at.machine.update_failed(client, offer.round, error, now)
        else:
            effects = self._at.machine.update_checked(client, offer.round, now)
            if any(
                isinstance(effect, round_effects.Accept) and effect.client == client for effect in effects
            ):
                self._at.checked[client] = update
                return effects
        return self.added(client, offer, now) + effects

    def added(self, client: str, offer: messages.Offer, now: float) -> list[round_effects.Effect]:
        """The bytes of an update are not needed any more: it is in the aggregate, or refused."""
        self._at.audience.tell_credits(self._at.uploads.done(client, offer.round, now))
        return []

    def unmasked(self, _now: float) -> Sequence[Effect]:
        """The masks are off the sum."""
        if self._at.masked is not None:
            self._at.masked.unmasked()
        return []

    def mismatched(self, now: float) -> Sequence[Effect]:
        """What was revealed does not take them off."""
        return self._at.masked.mismatched(now) if self._at.masked else []

    def version_made(self, version: VersionRecord, now: float) -> list[round_effects.Effect]:
        """The next version is recorded."""
        self._at.masked = None
        self._at.audience.tell_all(task_frames.made(version))
        self._at.machine.took_part(self._at.taken)
        return self._at.machine.aggregated(version.version, now)

    def version_failed(self, reason: str, now: float) -> list[round_effects.Effect]:
        """The next version could not be made or recorded."""
        return self._at.machine.aggregation_failed(reason, now)

    def restoring_failed(self, now: float) -> list[round_effects.Effect]:
        """The version that the owner goes back to could not be recorded."""
        return self._at.machine.restoring_failed(now)

    def evaluated(self, found: EvaluationRecord, _now: float) -> list[round_effects.Effect]:
        """A version was measured on the held-out shards."""
        self._at.audience.tell_all(task_frames.evaluated(found))
        self._at.notice(task_events.VersionEvaluated(found))
        return self._at.machine.version_evaluated(found.version, found.source, found.loss, found.metrics)
