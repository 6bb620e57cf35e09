"""Prepares a member's part in a Byzantine round: its own work, or the check of another one's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from backend.errors import PeerError
from backend.numerics.vectors import Vector
from backend.peer.mesh.averager import TrainedWork
from backend.peer.mesh.byzantine.mesh_states import MeshStates
from backend.peer.mesh.byzantine.state_transfer import StateTransfer
from backend.peer.mesh.byzantine.work_judge import JudgedWork, WorkJudge
from backend.peer.mesh.weight_transfer import WeightSources
from backend.peer.mesh.weights import WeightCache
from backend.peer.session.progress import Teller
from backend.peer.session.retry import WEIGHTS, retry, retry_job
from backend.peer.training.trainer import TrainingResult
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.protocols.mesh.byzantine.first_state import first_state
from backend.protocols.mesh.byzantine.roles import roles_of
from backend.protocols.mesh.byzantine.state import UNABLE_ROUNDS, AgreedState
from backend.wire.byzantine_bodies import WorkFinding
from backend.wire.mesh_messages import Entered
from backend.wire.messages import Train

_FOUND = {
    "same": "is the same as done here",
    "doubtful": "differs from what was done here, but not enough to be wrong",
    "other": "is not what was to be done",
    "missing": "was not shown",
}


@dataclass(frozen=True)
class PreparedRound:
    """What a member brings to the round after `state`, which is None before the first.

    It has an `update` [P] to the `weights`; None where it validates.
    """

    state: AgreedState | None
    weights: bytes
    update: Vector | None
    judgements: Sequence[WorkFinding] = field(default_factory=tuple)


class ByzantineLearner:
    """Trains by the rules of `states`, whatever the server's plan names: that gives the time of a round.

    `client` is this peer.
    """

    def __init__(
        self,
        client: str,
        identity: bytes,
        states: MeshStates,
        transfer: StateTransfer,
        judge: WorkJudge,
        weights: WeightCache,
        sources: WeightSources,
        jobs: TrainingJobs,
        reporter: Teller,
    ) -> None:
        self._client, self._identity = client, identity
        self._states = states
        self._transfer = transfer
        self._judge = judge
        self._weights = weights
        self._sources = sources
        self._jobs = jobs
        self._reporter = reporter
        self.prepared: PreparedRound | None = None

    async def train(self, job: TrainingJob[Train], entered: Entered) -> TrainedWork | None:
        """Does what is this member's in the next round; None if the job is aborted. Raises PeerError."""
        self.prepared = None
        await self._transfer.catch_up()
        known = self._states.newest
        state = known or await self._founding(job)
        if state is None:
            return None
        weights = self._weights.find(state.weights.hex())
        if weights is None:
            raise PeerError("The weights of the newest state are missing; other members have them.")
        roles = roles_of(state, self._states.rules.terms.validators)
        judgements, result = list[WorkFinding](), None
        cases = list(state.court) if self._client in roles.seated else []
        if self._client in roles.audits:
            cases.append(roles.audits[self._client])
        for case in cases:
            self._tell(job, f"checking the work of {case.target[:6]} in its round {case.round}", "checking")
            judged = await self._judge.judge(job, case)
            if judged is not None:
                self._tell_judged(job, judged)
                judgements.append(judged.finding)
                result = judged.result or result
        works = self._client not in roles.audits
        own = await self._own(job, state) if works or result is None else None
        result = own or result
        if result is None or job.aborted:
            return None
        self.prepared = PreparedRound(known, weights, own.update if works and own else None, judgements)
        rules, trainable = self._states.rules, self._jobs.manifest.parameters.trainable
        return TrainedWork(job.order, result, weights, rules.outer, trainable, rules.bundle, entered.run)

    async def _own(self, job: TrainingJob[Train], state: AgreedState) -> TrainingResult | None:
        self._tell(job, "training", "training")
        return await retry_job(
            lambda: self._judge.trained(job, state, self._client), self._reporter, lambda: job.aborted
        )

    async def _founding(self, job: TrainingJob[Train]) -> AgreedState | None:
        """Returns a state to draw the first work from: who else founds the mesh does not matter for that."""
        sha256, size = job.order.weights, self._jobs.update_bytes()

        def report(error: PeerError, _: float) -> None:
            self._reporter.tell("trouble", f"Round {job.order.round}: {error} Trying again.")

        content = await retry(lambda: self._sources.get(sha256, size), WEIGHTS, report, lambda: job.aborted)
        if content is None:
            return None
        self._weights.keep(sha256, content)
        return first_state(self._states.rules, bytes.fromhex(sha256), {self._client: self._identity})

    def _tell_unable(self, number: int, target: str, problem: str) -> None:
        sentence = (
            f"Round {number}: this peer could not check the work of {target[:6]}: {problem} "
            f"Others check for the next {UNABLE_ROUNDS} rounds."
        )
        self._reporter.tell("unable", sentence, round=number, client=target)

    def _tell_judged(self, job: TrainingJob[Train], judged: JudgedWork) -> None:
        case, number = judged.finding, job.order.round
        if case.found == "unable":
            self._tell_unable(number, case.target, judged.problem)
            return
        sentence = (
            f"Round {number}: the work of {case.target[:6]} in its round {case.round} {_FOUND[case.found]}."
        )
        self._reporter.tell(
            "checked",
            sentence,
            round=number,
            target=case.target,
            work=case.round,
            found=case.found,
            distance=judged.distance,
        )

    def _tell(self, job: TrainingJob[Train], what: str, kind: str) -> None:
        self._reporter.tell(kind, f"Round {job.order.round}: {what}.", round=job.order.round)
