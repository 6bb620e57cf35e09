"""Names of one owner that enter a mesh, and what the owner does with less computing than they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from backend.crypto.statements import Statement
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine.membership import MOST_ABSENCES, MeshMembership
from backend.wire.byzantine_bodies import WorkFinding
from benchmarks.btard.local_mesh import LocalMesh
from benchmarks.btard.picture_task import PictureTask
from benchmarks.btard.statement_lies import StatementLies
from benchmarks.btard.trial import Trial

STRATEGIES = ("fixed", "spare", "rotates", "favours")


class SybilWork:
    """Lets `sybils` of one owner share what it can compute: `compute` updates a round; others send copies.

    By the strategy "fixed" the first so many that are not banned work and validate. By "spare" what those
    would compute that validate goes to the next ones, since a validator may lie without work. By "rotates"
    all of it goes to those without a seat. By "favours" the seats come first, then the newcomer that is
    nearest to a seat; and where nothing is left for it, a seat is absent, as often as costs no seat.
    """

    def __init__(self, sybils: Sequence[str], compute: int, strategy: str) -> None:
        self._sybils, self._compute, self._strategy = sybils, compute, strategy
        self.membership = MeshMembership(())
        self.banned = frozenset[str]()
        # The works, by client and round, that others accused.
        self.judged = frozenset[tuple[str, int]]()
        # Who says nothing in this round.
        self.silent = frozenset[str]()

    @property
    def seated(self) -> frozenset[str]:
        """The owner's names that have a seat."""
        return frozenset(seat.client for seat in self.membership.seats).intersection(self._sybils)

    def sent(
        self, number: int, trained: Mapping[str, Vector], mislabelled: Mapping[str, Vector]
    ) -> dict[str, Vector]:
        """Returns what each client sends."""
        del number, mislabelled
        working = [one for one in self._sybils if one in trained]
        if self._strategy == "favours":
            first = self._favoured(working)
        elif self._strategy == "fixed":
            first = [one for one in self._sybils if one not in self.banned]
        else:
            first = sorted(working, key=lambda one: self._strategy == "rotates" and one in self.seated)
        true = set(first[: self._compute]).intersection(working)
        source = next(iter(sorted(true)), None)
        copied = {one: trained[source] for one in working if one not in true} if source else {}
        return {**trained, **copied}

    def _favoured(self, working: Sequence[str]) -> list[str]:
        passed = {one.client: (len(one.audits), one.rounds) for one in self.membership.newcomers}
        waiting = sorted(
            (one for one in working if one not in self.seated),
            key=lambda one: passed.get(one, (0, 0)),
            reverse=True,
        )
        seated = [one for one in working if one in self.seated]
        able = [
            seat.client
            for seat in self.membership.seats
            if seat.client in seated and len(seat.absences) < MOST_ABSENCES - 1
        ]
        missing = len(seated) + 1 - self._compute
        self.silent = frozenset(able[: max(0, missing)])
        return [*(one for one in seated if one not in self.silent), *waiting]


class SybilLies(StatementLies):
    """The lies of `client`, one of the `names`: all work of its fellows is right, and at times it is silent.

    Where another member has judged that work, too, it tells the truth: a contradiction costs its seat.
    """

    def __init__(self, client: str, names: Sequence[str], work: SybilWork) -> None:
        super().__init__(names)
        self._client, self._work = client, work

    def judged(self, finding: WorkFinding) -> WorkFinding:
        is_judged = (finding.target, finding.round) in self._work.judged
        return finding if is_judged else super().judged(finding)

    def said(self, statement: Statement, receiver: str) -> Statement | None:
        del receiver
        return None if self._client in self._work.silent else statement


def sybil_row(
    task: PictureTask, peers: int, sybils: int, compute: int, rounds: int, strategy: str, seed: int
) -> dict[str, Any]:
    """Returns how many seats the owner of `sybils` gets that can do the work of `compute` members.

    `most_present` is how many of them took part in one round at most.
    """
    names = [f"{(1 << 32) + number:016x}" for number in range(sybils)]
    trial = Trial(task, rounds, seed, peers=peers, byzantine=0)
    work = SybilWork(names, compute, strategy)
    lies = {name: SybilLies(name, names, work) for name in names}
    mesh = LocalMesh(trial, lies, newcomers=tuple(names), forger=work)
    most = present = above = 0
    seated_ever = set[str]()
    names_of = {mesh.peers[name].identity: name for name in names}
    while mesh.state.round < rounds and mesh.play_round():
        membership = mesh.state.membership
        work.membership = membership
        work.judged = frozenset(
            (case.target, case.round) for case in (*mesh.state.suspected, *mesh.state.court)
        )
        work.banned = frozenset(names_of[one] for one in membership.banned if one in names_of)
        seated_ever |= work.seated
        most, above = max(most, len(work.seated)), above + (len(work.seated) > compute)
        present = max(present, len(work.seated.intersection(membership.present(mesh.state.round + 1))))
    banned = set(mesh.state.membership.banned)
    return {
        "sybils": sybils,
        "compute": compute,
        "strategy": strategy,
        "most_seats": most,
        "most_present": present,
        "rounds_above": above,
        "ever_seated": len(seated_ever),
        "banned": len(work.banned),
        "banned_honest": len(banned) - len(work.banned),
        "newcomers_of_banned": sum(one.identity in banned for one in mesh.state.membership.newcomers),
        "different_bits": mesh.different_bits,
        "rounds": mesh.state.round,
    }
