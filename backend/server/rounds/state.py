"""The shared state of the parts of a rounds host."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from backend.numerics.aggregation.weighted_mean import UpdateMean, WeightedMean
from backend.numerics.privacy.summing import PrivateMean
from backend.numerics.vectors import Vector
from backend.protocols.rounds import round_effects
from backend.protocols.rounds.federated import Round
from backend.protocols.rounds.lots import PUBLIC_LOTS, Lots
from backend.protocols.rounds.reputation_book import ReputationBook
from backend.protocols.secagg import server_effects
from backend.protocols.secagg.masked_groups import MaskedGroups
from backend.server.hosting.background_tasks import BackgroundTasks
from backend.server.hosting.clients.connected_clients import ConnectedClients
from backend.server.hosting.limits import TaskLimits
from backend.server.hosting.uploads import UpdateUploads
from backend.server.observers.observer import Observer
from backend.server.observers.task_events import TaskEvent
from backend.server.privacy.central import CentralNoise
from backend.server.privacy.privacy_budget import PrivacyBudget
from backend.server.rounds.reputations import open_book
from backend.server.rounds.robust_round_mean import RobustRoundMean
from backend.server.rounds.round_accumulator import RoundAccumulator
from backend.server.rounds.round_host_events import RollbackRequested
from backend.server.rounds.scored_round_mean import ScoredRoundMean, UpdateScoring
from backend.server.rounds.update_sketches import RoundSketches, UpdateSketching, sketches_updates
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import ReputationRecord
from backend.stores.updates.kept_updates import KeptUpdates
from backend.stores.updates.spool import SpareRows

# Effects of the round machine and of secure aggregation.
Effect: TypeAlias = round_effects.Effect | server_effects.Effect


@dataclass
class RoundState:
    """Holds one task's machine and the state around it. Changed by the host's loop alone.

    `masked` is the machine of secure aggregation, from the opening of a masked round to its version; it has
    a sum for each group.
    `checked` holds updates that passed the checks, until they are accepted. `restoring` is the version that
    is restored, until it is recorded. An earlier process may have had version `resumed` summed in a round
    that it did not record; None if there was no earlier process. `background` runs jobs beside the loop.
    `account` tracks the privacy budget of clients; `noise` is the noise that the server adds, from random
    bytes of `draw`. `scratch` is a folder for updates that a rule keeps; None is the system's. `book` has the
    reputation of clients, from the records `reputations`; `scoring` is what their updates are scored with,
    and `sketching` what they are sketched with for the checks of versions. `spare_rows` has the memory of a
    rule's updates between rounds. `kept` keeps single updates; None where the task does not.
    """

    task: Task
    history: VersionHistory
    machine: Round
    observer: Observer
    limits: TaskLimits
    account: PrivacyBudget | None = None
    draw: Callable[[int], bytes] = secrets.token_bytes
    scratch: Path | None = None
    lots: Lots = PUBLIC_LOTS
    reputations: Sequence[ReputationRecord] = ()
    kept: KeptUpdates | None = None
    book: ReputationBook | None = field(init=False)
    scoring: UpdateScoring | None = field(init=False)
    sketching: UpdateSketching | None = None
    noise: CentralNoise | None = field(init=False)
    uploads: UpdateUploads = field(init=False)
    spare_rows: SpareRows = field(default_factory=SpareRows)
    connected: ConnectedClients = field(default_factory=ConnectedClients)
    accumulator: RoundAccumulator = field(default_factory=lambda: RoundAccumulator(WeightedMean(0)))
    masked: MaskedGroups | None = None
    checked: dict[str, Vector | memoryview] = field(default_factory=dict)
    restoring: RollbackRequested | None = None
    resumed: int | None = field(init=False)
    background: BackgroundTasks = field(init=False)

    def __post_init__(self) -> None:
        self.uploads = UpdateUploads(self.limits)
        self.resumed = self.history.current.version if self.history.is_resumed else None
        self.background = BackgroundTasks(self.task.file.name, self.notice)
        privacy = self.task.file.privacy
        central = privacy is not None and privacy.mechanism == "central"
        recorded = self.history.current.privacy
        clip = recorded["clip"] if recorded else None
        self.book = open_book(
            self.task.file, self.reputations, lambda client: client in self.history.accepted
        )
        self.scoring = UpdateScoring(self.book.rules, self.draw) if self.book else None
        if sketches_updates(self.task.file):
            trainable = self.task.bundle.manifest.parameters.trainable
            self.sketching = UpdateSketching(trainable, self.draw)
        self.noise = CentralNoise(privacy, clip, self.draw) if privacy and central else None

    def notice(self, event: TaskEvent) -> None:
        """Notifies observers."""
        self.observer.notice(self.task.file.name, event)

    def rest(self) -> None:
        """Frees memory for updates, because none is expected for a while."""
        self.uploads.rest()
        self.spare_rows.rest()

    def mean(self, size: int, most: int) -> UpdateMean | ScoredRoundMean:
        """Returns an empty mean of updates with `size` values each, of at most so many clients or groups."""
        robust = self.task.file.security.robust
        if self.scoring is not None:
            return ScoredRoundMean(robust, size, most, self.scratch, self.scoring, self.spare_rows)
        if robust is not None:
            return RobustRoundMean(robust, size, most, self.scratch, self.draw, self.spare_rows)
        return self.noise.mean(size) if self.noise else WeightedMean(size)

    def sketches(self, is_masked: bool) -> RoundSketches | None:
        """Returns empty sketches of a round's updates; None where they are not sketched, or masked."""
        return None if self.sketching is None or is_masked else RoundSketches(self.sketching)

    def next_clip(self, accumulator: RoundAccumulator) -> float:
        """Returns the clipping bound of the next round; 0 without clipping."""
        if self.noise is not None and isinstance(accumulator.mean, PrivateMean):
            return self.noise.next_clip(accumulator.mean)
        return self.clip

    @property
    def clip(self) -> float:
        """The norm that updates are clipped to now; 0 without clipping."""
        if self.noise is not None:
            return self.noise.clip
        privacy = self.task.file.privacy
        return privacy.clip if privacy else 0.0

    @property
    def taken(self) -> int:
        """The number of rounds of the client that took part in most, for the privacy account."""
        history, opened = self.history, self.machine.round + self.history.lost
        return self.account.taken(history.accepted, opened, history.current.version) if self.account else 0

    @property
    def privacy(self) -> dict[str, Any] | None:
        """The report of the clients' privacy; None without [privacy]."""
        if self.account is None:
            return None
        return self.account.report(self.taken, self.clip)

    @property
    def size(self) -> int:
        """Number of values of the task's flat vector."""
        return self.task.bundle.manifest.parameters.total
