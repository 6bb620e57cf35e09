"""One client of a lab's training: the peer's session, whose training and update may be an attacker's."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from backend.lab.attacks.attack import DataAttack
from backend.lab.socket_lab.attacked_cohort import AttackedCohort
from backend.lab.socket_lab.shared_engine import SharedEngine
from backend.peer.data.blob_cache import BlobSource
from backend.peer.data.shards import Examples
from backend.peer.rounds.session import RoundsSession
from backend.peer.rounds.spent_versions import SpentVersions
from backend.peer.session.progress import Value
from backend.peer.session.trust_store import TrustStore
from backend.peer.training.control_variates import Variates
from backend.peer.training.engine import PlanData, ShardRows
from backend.peer.training.trainer import TrainingProgress, TrainingResult
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.protocols.rounds.plan import RoundPlan
from backend.wire.client_id import client_id
from backend.wire.messages import Hello, Train


class SilentReporter:
    """A Reporter (progress.py) that keeps the last trouble, to explain why nothing happens."""

    def __init__(self) -> None:
        self.trouble = ""

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        del values
        if event in ("trouble", "offline", "unsafe"):
            self.trouble = sentence

    def step(self, of: str, step: int, steps: int, loss: float) -> None:
        """Ignores steps."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Keeps what it has."""


class AttackableJobs(TrainingJobs):
    """Training jobs (training_jobs.py) of one client of the lab, which poisons its data and forges updates.

    `plan` bounds the numbers that a client may claim.
    """

    def __init__(
        self,
        engine: SharedEngine,
        blobs: BlobSource,
        variates: Variates,
        number: int,
        cohort: AttackedCohort,
        plan: RoundPlan,
        poison: DataAttack | None,
        seed: int,
    ) -> None:
        super().__init__(engine, blobs, variates)
        self._number, self._cohort, self._plan = number, cohort, plan
        self._poison, self._seed = poison, seed

    async def rows(self, rows: ShardRows) -> PlanData:
        """See TrainingJobs: an attacker's are poisoned."""
        examples = await super().rows(rows)
        if self._poison is None or not isinstance(examples, Examples):
            return examples
        return self._poison.poison(examples, self._seed + self._number)

    async def train(
        self, job: TrainingJob[Train], name: str, report: Callable[[TrainingProgress], None]
    ) -> TrainingResult:
        """See TrainingJobs: an attacker's update is forged. It claims no more than its plan allows."""
        result = await super().train(job, name, report)
        update = await self._cohort.sent(self._number, job.order.version, result.update)
        given = sum(shard.examples for shard in job.order.shards)
        steps = min(result.steps, self._plan.most_steps(given))
        examples = min(result.examples, self._plan.most_examples(given))
        return replace(result, update=update, steps=steps, planned=steps, examples=examples)


class LabClient:
    """A client of one training, with a token that follows from `seed`, the task and its `number`."""

    def __init__(self, number: int, task: str, seed: int) -> None:
        self.number = number
        secret = hashlib.sha256(f"minga lab {seed} {task} {number}".encode()).digest()
        self._key, self._token = secret, base64.urlsafe_b64encode(secret).decode().rstrip("=")
        self.reporter = SilentReporter()

    @property
    def id(self) -> str:
        """The name by which the server knows it."""
        return client_id(self._token)

    def session(self, address: str, jobs: TrainingJobs, state: Path) -> RoundsSession:
        """Returns its session at the task's socket `address`."""
        hello = Hello(
            token=self._token,
            kind="peer",
            backend="tensorflow",
            agent="minga attack",
            aggregation=["open"],
            min_masked=0,
        )
        return RoundsSession(
            address,
            hello,
            jobs,
            self.reporter,
            random.random,
            self._key,
            TrustStore(state / "met"),
            SpentVersions(None),
        )
