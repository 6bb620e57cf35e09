"""Hosts the machine of a masked round's member; a thread beside TensorFlow's computes with secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from backend.crypto.round_context import Terms
from backend.errors import MingaError, UpdateRefusedError
from backend.numerics.masking.sparse import Residual
from backend.peer.rounds.masking_secrets import RoundSecrets, UnmaskedUpdate
from backend.peer.rounds.spent_versions import SpentVersions
from backend.peer.session.progress import Teller
from backend.peer.session.trust_store import TrustStore
from backend.protocols.secagg import member_events
from backend.protocols.secagg.member import MaskedMember
from backend.protocols.secagg.terms import terms_of
from backend.wire.messages import Accepted, ClientFrame, ServerFrame, Train, Welcome

T = TypeVar("T")

# A computation with a round's secrets; returns the event that reports its result.
SecretWork = Callable[[RoundSecrets], member_events.Event]


@dataclass(frozen=True)
class MaskedModel:
    """The size of a masked update: the numbers of `parameters` and of metric `rows`."""

    parameters: int
    rows: int


class Masker:
    """Owns the machine, and the secrets of the open round, which it drops at the end of the round.

    `identity` is the private signing key; `spent_versions` outlive this peer's process. This peer takes part
    among at least `minimum` clients. `send` sends
    a frame if the connection is open, `spawn` runs a coroutine and handles its errors, `give_up` ends the
    training of a round. `draw` returns a number of random bytes from the system's generator.
    """

    def __init__(
        self,
        identity: bytes,
        trust_store: TrustStore,
        spent_versions: SpentVersions,
        minimum: int,
        reporter: Teller,
        send: Callable[[ClientFrame], None],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        give_up: Callable[[int], None],
        draw: Callable[[int], bytes],
    ) -> None:
        self.machine = MaskedMember()
        self._identity = identity
        self._trust_store = trust_store
        self._spent_versions = spent_versions
        self._minimum = minimum
        self._reporter = reporter
        self._send = send
        self._spawn = spawn
        self._give_up = give_up
        self._draw = draw
        self._model = MaskedModel(0, 0)
        self._task, self._run = "", ""
        self._secrets: RoundSecrets | None = None
        self._masks_ready: asyncio.Future[RoundSecrets | None] | None = None
        # The part of this client's updates for this model that is not sent yet.
        self._residual, self._residual_of = Residual(), ("", "")
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="masks")

    @property
    def members(self) -> int:
        """The number of clients among which the open round's update is masked; 0 before that is known."""
        return self.machine.members

    # What the session reports.

    def plan_received(self, welcome: Welcome, plan: Train, model: MaskedModel) -> None:
        """The server sent a plan with masking; it may repeat it."""
        self._task, self._run, self._model = welcome.task, welcome.run, model
        if self._residual_of != (welcome.bundle, welcome.client):
            self._residual, self._residual_of = Residual(), (welcome.bundle, welcome.client)
        self._handle(member_events.Planned(welcome.client, welcome.bundle, self._minimum, plan))

    def frame_received(self, frame: ServerFrame) -> None:
        """The server sent a frame of any kind."""
        if isinstance(frame, Accepted):
            self._accepted(frame.round)
        self._handle(member_events.MaskedFrame(frame))

    def connection_opened(self) -> None:
        """The connection is open, perhaps after a reconnection."""
        self._handle(member_events.Welcomed())

    async def masked(self, number: int, trained: UnmaskedUpdate) -> memoryview | None:
        """Returns the masked update of round `number` as soon as it may be masked; None if it never may."""
        if self._secrets is None or self._secrets.terms.round != number or self._masks_ready is None:
            return None
        secrets = await self._masks_ready
        if secrets is None:
            return None
        try:
            trained = self._with_residual(trained, secrets.terms)
            return await self._in_thread(lambda: secrets.mask(trained))
        except UpdateRefusedError as error:
            # In the sum it could be neither found nor left out.
            self._handle(member_events.HostFailed(number, str(error)))
            return None

    def close(self) -> None:
        """Drops all state and ends the thread."""
        self._handle(member_events.Stopped())
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _with_residual(self, trained: UnmaskedUpdate, terms: Terms) -> UnmaskedUpdate:
        """Adds the unsent part of earlier updates, where the round sends a share of the parameters."""
        if terms.share == 1.0:
            return trained
        return replace(trained, owed=self._residual.own(terms.version, terms.parameters))

    def _accepted(self, number: int) -> None:
        """Stores the unsent part of round `number`'s update, which was accepted."""
        secrets = self._secrets
        if secrets is not None and secrets.terms.round == number and secrets.unsent is not None:
            self._residual.keep(secrets.terms.version, secrets.unsent)

    # What the machine asks.

    def _handle(self, event: member_events.Event) -> None:
        for effect in self.machine.handle(event):
            self._perform(effect)

    def _perform(self, effect: member_events.Effect) -> None:
        match effect:
            case member_events.SendMasked(frame):
                self._send(frame)
            case member_events.MakeKeys(client, bundle, plan):
                self._begin(client, bundle, plan)
            case member_events.CheckRoster():
                self._compute(effect.round, lambda secrets: secrets.check(effect, self._trust_store))
            case member_events.SealShares():
                self._compute(effect.round, lambda secrets: secrets.seal(effect))
            case member_events.OpenShares():
                self._compute(effect.round, lambda secrets: secrets.open(effect))
            case member_events.MaskUpdate():
                self._prepare(effect)
            case member_events.SignSurvivors():
                self._compute(effect.round, lambda secrets: secrets.sign_survivors(effect))
            case member_events.CheckConsistencySignatures():
                self._compute(effect.round, lambda secrets: secrets.check_consistency_signatures(effect))
            case member_events.MakeReveal():
                self._compute(effect.round, lambda secrets: self._reveal(secrets, effect, self._run))
            case member_events.LeaveRound(number, reason):
                sentence = f"Round {number}: this update would not be safe, so none is sent. {reason}"
                self._reporter.tell("unsafe", sentence, round=number)
                self._give_up(number)
            case member_events.ForgetRound():
                self._forget()

    def _begin(self, client: str, bundle: str, plan: Train) -> None:
        """Draws the secrets of a new round."""
        masking = plan.masking
        if masking is None:
            return
        terms = terms_of(
            masking,
            task=self._task,
            bundle=bundle,
            number=plan.round,
            version=plan.version,
            weights=plan.weights,
            parameters=self._model.parameters,
            rows=self._model.rows,
        )
        self._secrets = RoundSecrets(terms, client, self._identity, self._draw)
        self._masks_ready = asyncio.get_running_loop().create_future()
        run, spent = self._run, self._spent_versions
        self._compute(
            plan.round, lambda secrets: member_events.KeysMade(secrets.keys(), spent.first_unspent(run))
        )

    def _reveal(
        self, secrets: RoundSecrets, request: member_events.MakeReveal, run: str
    ) -> member_events.RevealMade:
        """Takes shares out after it is stored that the version is spent; raises PeerError otherwise."""
        self._spent_versions.spend(run, request.version, secrets.context)
        return secrets.reveal(request)

    def _prepare(self, request: member_events.MaskUpdate) -> None:
        """Expands the masks while TensorFlow trains; then the update may be masked."""
        secrets, masks_ready, members = self._secrets, self._masks_ready, self.machine.members
        if secrets is None or masks_ready is None:
            return

        async def prepare() -> None:
            await self._in_thread(lambda: secrets.prepare(request))
            if not masks_ready.done():
                masks_ready.set_result(secrets)
                sentence = f"Round {request.round}: this update is masked among {members} clients."
                self._reporter.tell("masked", sentence, round=request.round, members=members)

        self._spawn(prepare())

    def _compute(self, number: int, work: SecretWork) -> None:
        """Runs `work` in the thread, and passes its event to the machine."""
        secrets = self._secrets
        if secrets is None:
            return

        async def compute() -> None:
            event: member_events.Event
            try:
                event = await self._in_thread(lambda: work(secrets))
            except MingaError as error:
                event = member_events.HostFailed(number, str(error)[:500])
            if secrets is self._secrets:
                self._handle(event)

        self._spawn(compute())

    def _forget(self) -> None:
        self._secrets = None
        if self._masks_ready is not None and not self._masks_ready.done():
            self._masks_ready.set_result(None)
        self._masks_ready = None

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
