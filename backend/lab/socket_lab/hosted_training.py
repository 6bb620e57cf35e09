"""Trains a task on a real server, over sockets, while some of its clients attack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

from backend.errors import ClosedError, PeerError
from backend.lab.robustness.attack_plan import AttackPlan
from backend.lab.robustness.attacked_training import AttackedRoundOutcome, RobustnessLab
from backend.lab.socket_lab.attacked_cohort import AttackedCohort
from backend.lab.socket_lab.lab_client import AttackableJobs, LabClient
from backend.lab.socket_lab.lab_server import LabServer
from backend.lab.socket_lab.task_copy import LabCohort
from backend.numerics.vectors import Vector
from backend.peer.session.session_loop import SessionEnd
from backend.peer.training.control_variates import Variates
from backend.server.hosting.task_host import TaskHost
from backend.stores.contracts import RoundRecord

# Seconds between looks at the host, which works in the same loop.
_PAUSE = 0.02


class HostedTraining:
    """One training of a task that `server` hosts for it. Everything but timing follows from `seed`."""

    def __init__(
        self, server: LabServer, lab: RobustnessLab, cohort: LabCohort, attack: AttackPlan, seed: int
    ) -> None:
        self._server, self._lab, self._cohort, self._attack, self._seed = server, lab, cohort, attack, seed
        triggered = attack.data.trigger(lab.task.held_out) if attack.data and attack.data.trigger else None
        self._test = triggered

    async def run(self, file: Path, name: str) -> AsyncGenerator[AttackedRoundOutcome]:
        """Hosts the task file `file`, called `name`, and yields the outcome of each of its rounds.

        Raises MingaError if the server does not host it, or a client cannot take part.
        """
        registry = self._server.registry
        await registry.open_task(file)
        clients = [LabClient(number, name, self._seed) for number in range(self._cohort.clients)]
        host = registry.host(name)
        runs = self._join(host, clients, file.parent)
        try:
            async with aclosing(self._rounds(host, clients, runs)) as outcomes:
                async for outcome in outcomes:
                    yield outcome
        finally:
            for run in runs:
                run.cancel()
            await asyncio.gather(*runs, return_exceptions=True)
            await registry.close_task(name, ClosedError("This training of the lab is over."))

    def _join(
        self, host: TaskHost, clients: Sequence[LabClient], state: Path
    ) -> list[asyncio.Task[SessionEnd]]:
        """Lets all clients join."""
        attackers, plan = self._cohort.attackers, host.task.plan()
        known = AttackedCohort(len(clients), attackers, self._attack.update)
        address, runs = self._server.address.socket(host.name), []
        for client in clients:
            jobs = AttackableJobs(
                self._server.engine,
                self._server.blobs,
                Variates(state / "variates"),
                client.number,
                known,
                plan,
                self._attack.data if client.number < attackers else None,
                self._seed,
            )
            session = client.session(address, jobs, state)
            runs.append(asyncio.create_task(session.run(asyncio.Event())))
        return runs

    async def _rounds(
        self, host: TaskHost, clients: Sequence[LabClient], runs: Sequence[asyncio.Task[SessionEnd]]
    ) -> AsyncGenerator[AttackedRoundOutcome]:
        weights = self._lab.task.weights
        for number in range(1, self._cohort.rounds + 1):
            while host.history.round < number:
                _check(clients, runs, number)
                await asyncio.sleep(_PAUSE)
            (record,) = await host.history.rounds(number - 1, None, number + 1)
            made = [version.version for version in host.history.versions if version.round == number]
            if made:
                weights = (await host.history.read_version(made[0])).weights
            yield await self._outcome(record, weights, clients)

    async def _outcome(
        self, record: RoundRecord, weights: Vector, clients: Sequence[LabClient]
    ) -> AttackedRoundOutcome:
        honest = {client.id for client in clients[self._cohort.attackers :]}
        lab, test = self._lab, self._test
        accuracy = await asyncio.to_thread(lab.accuracy, weights, lab.task.held_out)
        backdoor = None if test is None else await asyncio.to_thread(lab.accuracy, weights, test)
        ejected = sum(client in honest for client in record.left_out)
        return AttackedRoundOutcome(accuracy, backdoor, record.refused, ejected, record.reason or None)


def _check(clients: Sequence[LabClient], runs: Sequence[asyncio.Task[SessionEnd]], number: int) -> None:
    """Raises the error that ended a client's session, and PeerError if all left before a round ended."""
    for run in runs:
        if run.done() and (error := run.exception()) is not None:
            raise error
    if all(run.done() for run in runs):
        troubles = {client.reporter.trouble for client in clients} - {""}
        raise PeerError(" ".join([f"All clients left before round {number} ended.", *sorted(troubles)]))
