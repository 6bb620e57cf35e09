"""What liars do beside false work: lies about others' work, in statements, with means and numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import numpy as np
from msgspec.structs import replace

from backend.crypto.statements import Statement
from backend.protocols.mesh.byzantine.round_events import MeanMade, MeansChecked, RoundEvent
from backend.protocols.mesh.byzantine.turn import Turn
from backend.wire.byzantine_bodies import CommitBody, WorkFinding, decode_body, encode_body
from benchmarks.btard.mesh_peer import MeshPeer
from benchmarks.btard.round_arithmetic import RoundArithmetic


class StatementLies:
    """The lies of one of the `fellows`, all liars: it finds nothing wrong with the work of the others."""

    def __init__(self, fellows: Collection[str]) -> None:
        self.fellows = frozenset(fellows)

    def said(self, statement: Statement, receiver: str) -> Statement | None:
        """Returns what the liar sends to `receiver` in place of its own statement, None for nothing."""
        del receiver
        return statement

    def computed(self, liar: MeshPeer, event: RoundEvent, arithmetic: RoundArithmetic) -> RoundEvent:
        """Returns what the liar's machine gets in place of what was computed for it."""
        del liar, arithmetic
        return event

    def judged(self, finding: WorkFinding) -> WorkFinding:
        """Returns what the liar says in place of what it found."""
        return replace(finding, found="same") if finding.target in self.fellows else finding


class FalseAccuser(StatementLies):
    """Accuses everybody whose work it judges, but fellow liars."""

    def judged(self, finding: WorkFinding) -> WorkFinding:
        return replace(finding, found="same" if finding.target in self.fellows else "other")


class Equivocator(StatementLies):
    """Commits to one part of the coin towards some, and to another one towards the others."""

    def said(self, statement: Statement, receiver: str) -> Statement | None:
        body = decode_body(statement.body)
        if not isinstance(body, CommitBody) or int(receiver, 16) % 2:
            return statement
        other = replace(body, coin=hashlib.sha256(body.coin).digest())
        return Statement(statement.identity, statement.phase, statement.before, encode_body(other))


class CoinKeeper(StatementLies):
    """Commits to a part of the coin, and does not reveal it."""

    def said(self, statement: Statement, receiver: str) -> Statement | None:
        del receiver
        return None if statement.phase == "reveal" else statement


class LyingOwner(StatementLies):
    """The first `owners` liars left move their means by so many `radii`; all others hide it by false numbers.

    Together they bring the sum of all products of such a part to zero, and call its mean near.
    """

    def __init__(self, fellows: Collection[str], radii: float, owners: int = 1) -> None:
        super().__init__(fellows)
        self._radii, self._owners = radii, owners

    def computed(self, liar: MeshPeer, event: RoundEvent, arithmetic: RoundArithmetic) -> RoundEvent:
        turn = liar.machine.turn if liar.machine is not None else None
        if turn is None or not turn.radius or liar.client not in turn.roles.workers:
            return event
        working = [one for one in turn.roles.workers if one in self.fellows]
        owners = working[: self._owners]
        if isinstance(event, MeanMade) and liar.client in owners:
            moved = arithmetic.vector(event.digest) + np.float32(self._radii * turn.radius)
            return MeanMade(arithmetic.keep(moved))
        if isinstance(event, MeansChecked):
            hidden = [owner for owner in owners if owner != liar.client]
            return _hidden(turn, event, hidden, len(working) - 1, arithmetic)
        return event


def _hidden(
    turn: Turn, event: MeansChecked, owners: Collection[str], colluders: int, arithmetic: RoundArithmetic
) -> MeansChecked:
    """Returns false numbers about the parts of `owners`: each of the colluders hides the same share."""
    products, lengths = list(event.products), list(event.lengths)
    for owner in owners:
        part, mean = turn.roles.workers.index(owner), turn.statements.means()[owner]
        radius, coin, total = turn.part_radius(part), turn.tossed(), 0.0
        for piece in turn.pieces_of(part):
            total += arithmetic.numbers(piece, mean, radius, coin, part)[0]
        products[part] -= total / colluders
        lengths[part] = 0.0
    return MeansChecked(products, lengths, event.own_products, event.own_lengths)
