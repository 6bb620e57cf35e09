"""The event handler of rounds: passes frames, owner commands and job results to the machines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from backend.errors import MingaError, OrderError, ReplacedError, UpdateRefusedError, WrongLengthError
from backend.numerics.aggregation.update_checks import check_finite
from backend.numerics.vectors import Vector
from backend.protocols.rounds import round_effects
from backend.protocols.rounds.phases import RoundPhase
from backend.server.hosting import host_events, task_frames
from backend.server.hosting.clients.client_link import ClientLink, ConnectedClient
from backend.server.hosting.clients.exact_clients import objection
from backend.server.hosting.owner_commands import command
from backend.server.observers import task_events
from backend.server.rounds import round_host_events
from backend.server.rounds.reputations import suspect_key
from backend.server.rounds.round_host_events import RoundHostEvent
from backend.server.rounds.state import Effect, RoundState
from backend.server.tasks.client_terms import aggregation_terms, privacy_terms
from backend.stores.contracts import EvaluationRecord, VersionRecord
from backend.wire import messages


class RoundEventHandler:
    """Turns each event into calls of the machines. Every method returns the effects to perform."""

    def __init__(self, state: RoundState) -> None:
        self._state = state

    def handle(self, event: RoundHostEvent, now: float) -> Sequence[Effect]:
        """Passes `event`, which happened at `now`, to the machines."""
        match event:
            case host_events.FrameReceived():
                return self._receive(event.client, event.link, event.message, now)
            case round_host_events.HelloReceived(client):
                return self._join(client, now)
            case host_events.ConnectionLost():
                return self._leave(event.client, event.link, now, lost=True)
            case host_events.ClientsDismissed():
                return self._dismiss(event.clients, event.error, now)
            case host_events.PauseRequested() | host_events.ResumeRequested() | host_events.FinishRequested():
                return command(self._state.machine, self._state.connected, event, now)
            case round_host_events.RollbackRequested():
                return self._roll_back(event, now)
            case round_host_events.RollbackFailed():
                return self._state.machine.restoring_failed(now)
            case round_host_events.UpdateAdded(client, number):
                self._release(client, number, now)
                return []
            case (
                round_host_events.MasksRemoved()
                | round_host_events.SharesMismatched()
                | round_host_events.SumMeaningless()
            ):
                return self._sum_settled(event, now)
            case host_events.VersionWritten(version):
                return self._version_written(version, now)
            case host_events.VersionFailed(reason):
                return self._state.machine.aggregation_failed(reason, now)
            case host_events.EvaluationWritten(evaluation):
                return self._evaluated(evaluation)

    # Clients.

    def _join(self, client: ConnectedClient, now: float) -> list[Effect]:
        """Adds a client; an older connection of the same client is closed."""
        effects: list[Effect] = []
        older = self._state.connected.clients.get(client.id)
        if older is not None:
            older.link.close(ReplacedError("You opened this task elsewhere; that connection continues."))
            effects += self._leave(client.id, older.link, now, lost=True)
        self._state.connected.add(client)
        machine = self._state.machine
        machine.client_joined(client.id, client.aggregation, client.household, client.link.identity)
        file = self._state.task.file
        if self._state.book is not None and (table := file.security.reputation) is not None:
            member = suspect_key(table, client.id, client.link, self._state.lots)
            self._state.book.join(client.id, member)
        welcome = messages.Welcome(
            task=file.name,
            client=client.id,
            bundle=self._state.task.bundle.address,
            run=self._state.history.run_name,
            chunk_bytes=self._state.limits.chunk_bytes,
            aggregation=client.aggregation,
            masking=aggregation_terms(file) if client.aggregation == "masked" else None,
            privacy=privacy_terms(file),
            probation=machine.probation.remaining(client.id),
        )
        self._state.connected.tell(client.id, welcome)
        self._state.connected.welcome(client.id, now)
        self._state.notice(task_events.ClientJoined(client.id, client.kind, client.backend))
        return effects

    def _leave(self, client: str, link: ClientLink, now: float, lost: bool) -> list[Effect]:
        """Removes a client that left, or whose connection was `lost`."""
        if not self._is_current(client, link):
            return []
        self._state.connected.remove(client)
        self._state.notice(task_events.ClientLeft(client, lost))
        if self._state.uploads.receiving(client):
            self._state.connected.tell_credits(self._state.uploads.drop(client, now))
        masked = self._state.masked.client_left(client, now, lost) if self._state.masked else []
        return [*self._state.machine.client_left(client, now, lost), *masked]

    def _dismiss(self, clients: Collection[str] | None, error: MingaError, now: float) -> list[Effect]:
        """Closes the connections of these clients, or of all."""
        effects: list[Effect] = []
        for client in list(self._state.connected.clients) if clients is None else clients:
            connected = self._state.connected.clients.get(client)
            if connected is not None:
                connected.link.close(error)
                effects += self._leave(client, connected.link, now, lost=False)
        return effects

    def _receive(
        self, client: str, link: ClientLink, message: messages.ClientFrame, now: float
    ) -> Sequence[Effect]:
        """Handles a frame after the client's hello."""
        if not self._is_current(client, link):
            return []  # The client was replaced, or left, before this frame was handled.
        match message:
            case messages.Ready():
                connected = self._state.connected.clients[client]
                if refusal := objection(self._state.task, connected.kind, message):
                    return self._dismiss([client], refusal, now)
                connected.backend = message.backend
                self._state.connected.add(connected)
                effects = self._state.machine.client_ready(client, now, message.step_ms, message.examples)
                return [*effects, *(self._state.masked.client_ready(client) if self._state.masked else [])]
            case messages.Offer():
                return self._offered(client, message, now)
            case messages.Chunk():
                return self._chunk(client, message, now)
            case messages.Evaluation():
                return self._state.machine.evaluation_arrived(client, message, now)
            case messages.Leave():
                return self._leave(client, link, now, lost=False)
            case messages.Hello():
                return []  # The socket passes one hello only, before all other frames.
            case (
                messages.Keys()
                | messages.Shares()
                | messages.ConsistencySignature()
                | messages.Reveal()
                | messages.Decline()
            ):
                masked = self._state.masked
                return masked.frame_arrived(client, message, now) if masked else []

    def _sum_settled(
        self,
        event: round_host_events.MasksRemoved
        | round_host_events.SharesMismatched
        | round_host_events.SumMeaningless,
        now: float,
    ) -> Sequence[Effect]:
        """Reports a group's sum to the machine, unless its round is over: other groups may have failed it."""
        masked = self._state.masked
        if masked is None or masked.terms.round != event.round:
            return []
        match event:
            case round_host_events.MasksRemoved():
                return masked.unmasked(event.group)
            case round_host_events.SharesMismatched():
                return masked.mismatched(event.group, event.owners, now)
            case round_host_events.SumMeaningless():
                return masked.meaningless(event.group, event.reason)

    def _offered(self, client: str, offer: messages.Offer, now: float) -> list[round_effects.Effect]:
        effects = self._state.machine.update_offered(client, offer, now)
        if any(isinstance(effect, round_effects.GrantUpload) for effect in effects):
            if self._state.masked and (objection := self._state.masked.may_offer(client)):
                return self._state.machine.update_failed(client, offer.round, objection, now)
            try:
                check_finite("loss", [offer.loss])
                check_finite("list of metric sums", chain.from_iterable(offer.sums))
            except UpdateRefusedError as error:
                return self._state.machine.update_failed(client, offer.round, error, now)
        return effects

    def _chunk(self, client: str, chunk: messages.Chunk, now: float) -> list[round_effects.Effect]:
        self._state.connected.clients[client].received += len(chunk.data)
        try:
            complete, credits = self._state.uploads.chunk(client, chunk, now)
        except WrongLengthError as error:
            self._state.connected.tell_credits(self._state.uploads.drop(client, now))
            return self._state.machine.update_failed(client, chunk.round, error, now)
        self._state.connected.tell_credits(credits)
        return self._update_arrived(client, chunk.round, now) if complete else []

    def _update_arrived(self, client: str, number: int, now: float) -> list[round_effects.Effect]:
        """Checks a complete update, and reports it to the machine with the fault, if any."""
        update: Vector | memoryview | None = None
        fault: UpdateRefusedError | None = None
        try:
            if self._state.masked is not None:
                update = self._state.uploads.words(client)
            else:
                update = self._state.uploads.update(client, self._state.task.file.security.max_update_norm)
        except UpdateRefusedError as error:
            fault = error
        effects = self._state.machine.update_arrived(client, number, now, fault)
        counts = any(
            isinstance(effect, round_effects.Accept) and effect.client == client and effect.counts
            for effect in effects
        )
        if counts and update is not None:
            self._state.checked[client] = update
        else:
            self._release(client, number, now)
        return effects

    def chunk_taken(self, client: str, link: ClientLink, chunk: messages.Chunk, now: float) -> bool:
        """Stores a chunk that is due and not an update's last, and returns whether it was."""
        credits = (
            self._state.uploads.inner_chunk(client, chunk, now) if self._is_current(client, link) else None
        )
        if credits is None:
            return False
        self._state.connected.clients[client].received += len(chunk.data)
        self._state.connected.tell_credits(credits)
        return True

    def _is_current(self, client: str, link: ClientLink) -> bool:
        connected = self._state.connected.clients.get(client)
        return connected is not None and connected.link is link

    def _release(self, client: str, number: int, now: float) -> None:
        """Releases the buffer of an update that is in the aggregate, or refused."""
        self._state.connected.tell_credits(self._state.uploads.done(client, number, now))

    # Versions.

    def _roll_back(self, rollback: round_host_events.RollbackRequested, now: float) -> Sequence[Effect]:
        try:
            effects = self._state.machine.restore_requested(rollback.reason, now)
        except OrderError as error:
            rollback.fail(error)
            return []
        if self._state.machine.phase is RoundPhase.FINISHED:
            rollback.fail(OrderError("The task was finished at this moment."))
        else:
            self._state.restoring = rollback
        return effects

    def _version_written(self, version: VersionRecord, now: float) -> list[round_effects.Effect]:
        self._state.masked = None
        self._state.connected.tell_all(task_frames.made(version))
        self._state.machine.took_part(self._state.taken)
        return self._state.machine.aggregated(version.version, now, self._state.history.repeats)

    def _evaluated(self, evaluation: EvaluationRecord) -> list[round_effects.Effect]:
        self._state.connected.tell_all(task_frames.evaluated(evaluation))
        self._state.notice(task_events.VersionEvaluated(evaluation))
        return self._state.machine.version_evaluated(
            evaluation.version, evaluation.source, evaluation.loss, evaluation.metrics
        )
