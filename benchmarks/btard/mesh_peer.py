"""A member of a Byzantine mesh in one process: what it keeps, and how it judges the work of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from backend.crypto.statements import Statement
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine.checks import part_radius
from backend.protocols.mesh.byzantine.machine import ByzantineRound
from backend.protocols.mesh.byzantine.outcome import Removal
from backend.protocols.mesh.byzantine.roles import roles_of
from backend.protocols.mesh.byzantine.round_events import StatementReceived
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_bodies import CheckBody, Judged, WorkFinding
from benchmarks.btard.round_arithmetic import RoundArithmetic, digest_of
from benchmarks.btard.trial import Trial

# Work is judged one round later, and by the court two rounds later.
_KEPT_ROUNDS = 3


@dataclass(frozen=True)
class PastRound:
    """What a judge needs of a round that began with state and `weights`.

    `pieces` has the digests of all who worked, newcomers too; `means` and `checks` are those of `workers`,
    `tossed` is the round's coin. `arithmetic` has all bytes.
    """

    state: AgreedState
    weights: Vector
    pieces: Mapping[str, Sequence[bytes]]
    workers: tuple[str, ...]
    means: Mapping[str, bytes]
    checks: Mapping[str, CheckBody]
    tossed: bytes
    arithmetic: RoundArithmetic


@dataclass
class MeshPeer:
    """The device of `client`; `slots` is the outer momentum. Owned by its mesh."""

    client: str
    identity: bytes
    state: AgreedState
    weights: Vector
    slots: Vector
    machine: ByzantineRound | None = None
    # What the outer step of this round gave.
    stepped: tuple[Vector, Vector] | None = None
    result: AgreedState | bytes | None = None
    removed: dict[str, Removal] = field(default_factory=dict)
    past: dict[int, PastRound] = field(default_factory=dict)
    # Who passed a statement on, and statements of turns that its machine has not come to.
    signers: dict[Statement, dict[bytes, None]] = field(default_factory=dict)
    later: list[tuple[int, StatementReceived]] = field(default_factory=list)

    def begin(self, machine: ByzantineRound | None) -> None:
        """Takes the machine of a new round, None if it has no seat in it."""
        self.machine, self.stepped, self.result = machine, None, None
        self.removed, self.signers, self.later = {}, {}, []

    def cases(self, validators: int) -> list[tuple[str, int]]:
        """Returns whose work of which round this member judges now: its audit, and all cases in court."""
        found = [(case.target, case.round) for case in self.state.court]
        audit = roles_of(self.state, validators).audits.get(self.client)
        return found if audit is None else [*found, (audit.target, audit.round)]

    def judge(self, trial: Trial, target: str, number: int) -> WorkFinding:
        """Does the work of `target` in round `number` again, and compares it with its pieces bit by bit.

        Its numbers, and the mean that it made of its part, belong to the work (Gorbunov et al. 2022,
        CheckComputations).
        """
        past = self.past.get(number)
        return WorkFinding(target, number, "missing" if past is None else _found(trial, target, past))

    def finish(self, past: PastRound) -> None:
        """Takes the result of its round, which it computed itself."""
        if isinstance(self.result, AgreedState) and self.stepped is not None:
            self.weights, self.slots = self.stepped
            self._enter(self.result, past)

    def adopt(self, other: MeshPeer) -> None:
        """Takes state, weights and commitments from a member that finished the round."""
        self.weights, self.slots = other.weights, other.slots
        self._enter(other.state, other.past[other.state.round])

    def _enter(self, state: AgreedState, past: PastRound) -> None:
        self.state = state
        self.past[state.round] = past
        for number in [one for one in self.past if one <= state.round - _KEPT_ROUNDS]:
            del self.past[number]

    def has_agreed_bits(self) -> bool:
        """Whether its weights and momentum are those of its state."""
        return (digest_of(self.weights), digest_of(self.slots)) == (self.state.weights, self.state.slots)


def _found(trial: Trial, target: str, past: PastRound) -> Judged:
    digests = past.pieces.get(target)
    if digests is None:
        return "missing"
    try:
        pieces = [past.arithmetic.vector(digest) for digest in digests]
    except KeyError:
        return "missing"
    work = trial.update(past.weights, past.state.coin, target)
    true = trial.cut(work, len(pieces))
    same = all(map(np.array_equal, pieces, true))
    return "same" if same and (target not in past.workers or _checked_truly(trial, target, past)) else "other"


def _checked_truly(trial: Trial, target: str, past: PastRound) -> bool:
    """Whether a worker's numbers and its part's mean are what its pieces and all means give."""
    bounds, own = trial.bounds(len(past.workers)), past.workers.index(target)
    radii = [part_radius(past.state.radius, end - start) for start, end in pairwise(bounds)]
    numbers = [
        past.arithmetic.numbers(past.pieces[target][part], past.means[owner], radius, past.tossed, part)
        for part, (owner, radius) in enumerate(zip(past.workers, radii, strict=True))
    ]
    said = past.checks[target]
    if list(zip(said.products, said.lengths, strict=True)) != numbers:
        return False
    pieces = tuple(past.pieces[worker][own] for worker in past.workers)
    return past.arithmetic.mean(pieces, radii[own]) == past.means[target]
