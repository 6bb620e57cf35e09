"""What the parts of one task's host work on together."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from backend.numerics.aggregation.weighted_mean import UpdateMean, WeightedMean
from backend.numerics.privacy.summing import PrivateMean
from backend.numerics.vectors import Vector
from backend.protocols.rounds import round_effects
from backend.protocols.rounds.federated import Round
from backend.protocols.secagg import server_effects
from backend.protocols.secagg.server import MaskedRound
from backend.server.hosting.background_tasks import BackgroundTasks
from backend.server.hosting.connected_clients import ConnectedClients
from backend.server.hosting.limits import TaskLimits
from backend.server.hosting.uploads import UpdateUploads
from backend.server.observers.observer import Observer
from backend.server.observers.task_events import TaskEvent
from backend.server.privacy.central import CentralNoise
from backend.server.privacy.privacy_budget import PrivacyBudget
from backend.server.rounds.round_accumulator import RoundAccumulator
from backend.server.rounds.round_host_events import RollbackRequested
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory

# What the machines of rounds and of their masks ask for.
Effect: TypeAlias = round_effects.Effect | server_effects.Effect


@dataclass
class RoundState:
    """One task's machine and all that stands around it. Changed by the host's loop alone.

    `masked` stands beside it from the opening of a masked round to its version. `checked` holds the updates
    that were found good, until they are accepted. `restoring` is the version that the owner goes back to,
    until that is recorded. `background` are what runs beside the loop. `account` is that
    of its clients' privacy, `noise` what the server adds for it, from random bytes that `draw` gives.
    """

    task: Task
    history: VersionHistory
    machine: Round
    observer: Observer
    limits: TaskLimits
    account: PrivacyBudget | None = None
    draw: Callable[[int], bytes] = secrets.token_bytes
    noise: CentralNoise | None = field(init=False)
    uploads: UpdateUploads = field(init=False)
    connected: ConnectedClients = field(default_factory=ConnectedClients)
    tally: RoundAccumulator = field(default_factory=lambda: RoundAccumulator(WeightedMean(0)))
    masked: MaskedRound | None = None
    checked: dict[str, Vector | memoryview] = field(default_factory=dict)
    restoring: RollbackRequested | None = None
    background: BackgroundTasks = field(init=False)

    def __post_init__(self) -> None:
        self.uploads = UpdateUploads(self.limits)
        self.background = BackgroundTasks(self.task.file.name, self.notice)
        privacy = self.task.file.privacy
        central = privacy is not None and privacy.mechanism == "central"
        recorded = self.history.current.privacy
        clip = recorded["clip"] if recorded else None
        self.noise = CentralNoise(privacy, clip, self.draw) if privacy and central else None

    def notice(self, event: TaskEvent) -> None:
        """Tells whoever watches."""
        self.observer.notice(self.task.file.name, event)

    def mean(self, size: int) -> UpdateMean:
        """What takes in the updates of a round, of so many values each."""
        return self.noise.mean(size) if self.noise else WeightedMean(size)

    def next_clip(self, tally: RoundAccumulator) -> float:
        """The clip of the rounds after `tally`'s; 0 where nothing is clipped."""
        if self.noise is not None and isinstance(tally.mean, PrivateMean):
            return self.noise.next_clip(tally.mean)
        return self.clip

    @property
    def clip(self) -> float:
        """To which norm updates are clipped now; 0 where nothing is."""
        if self.noise is not None:
            return self.noise.clip
        privacy = self.task.file.privacy
        return privacy.clip if privacy else 0.0

    @property
    def taken(self) -> int:
        """In how many rounds the client was that was in most of them, for the account."""
        history, opened = self.history, self.machine.round + self.history.lost
        return self.account.taken(history.accepted, opened, history.current.version) if self.account else 0

    @property
    def privacy(self) -> dict[str, Any] | None:
        """What is told of the clients' privacy; None where nothing is done for it."""
        if self.account is None:
            return None
        return self.account.report(self.taken, self.clip)

    @property
    def size(self) -> int:
        """Number of values of the task's flat vector."""
        return self.task.bundle.manifest.parameters.total
