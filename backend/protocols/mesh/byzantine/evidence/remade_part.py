"""Makes the mean of a part, or a member's numbers about it, again from the bytes that members committed to.

A member's statement is bound to all that it had heard in the phase before. Else a liar could commit to
something else afterwards, and show that to have an honest member's mean or numbers look wrong.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter

import numpy as np

from backend.crypto.statements import tossed_coin
from backend.errors import EvidenceError
from backend.numerics.butterfly.part_values import mean_of_part, part_numbers, part_values
from backend.protocols.mesh.byzantine.checks import part_radius
from backend.protocols.mesh.byzantine.drawn_work import coin_seed
from backend.protocols.mesh.byzantine.evidence.evidence_turn import EvidenceTurn, by_digest
from backend.protocols.mesh.byzantine.turn_log import TurnPhase
from backend.protocols.mesh.byzantine.turn_statements import TurnStatements
from backend.wire.ban_evidence import BanEvidence

_VALUE_BYTES = 4


def require_wrong_mean(evidence: BanEvidence, turn: EvidenceTurn) -> None:
    """Raises EvidenceError unless the accused signed another mean of its part than its pieces have."""
    statements, workers, part = _worked(evidence, turn)
    client = evidence.client
    if workers[part] != client:
        raise EvidenceError(f"Part {part} is {workers[part]}'s, not the accused's.")
    if TurnPhase.MADE not in _phases(turn, client) or turn.count() != len(turn.active) + 1:
        raise EvidenceError("A wrong mean needs all commitments and the accused's mean, and nothing else.")
    _require_heard(turn, client, TurnPhase.MADE)
    pieces = [statements.pieces()[worker][part] for worker in workers]
    contents = _contents(evidence, set(pieces))
    size = _size(turn, dict(zip(workers, pieces, strict=True)), contents, client)
    values = [part_values(contents[one], size) for one in pieces]
    try:
        with np.errstate(all="ignore"):
            mean = mean_of_part(values, part_radius(turn.state.radius, size))
    except ValueError as error:
        raise EvidenceError("Its pieces have no mean.") from error
    if not np.isfinite(mean).all():
        raise EvidenceError("The mean of its pieces is not finite: its bits differ between machines.")
    if hashlib.sha256(mean.astype("<f4").tobytes()).digest() == statements.means()[client]:
        raise EvidenceError("The mean is right: made again of its pieces it has the same bits.")


def require_wrong_check(evidence: BanEvidence, turn: EvidenceTurn) -> None:
    """Raises EvidenceError unless the accused signed other numbers than its piece of the part has."""
    statements, workers, part = _worked(evidence, turn)
    client, active, needed = evidence.client, turn.active, (TurnPhase.MADE, TurnPhase.REVEAL, TurnPhase.CHECK)
    if turn.count() != 3 * len(active) + 1 or not set(needed).issubset(_phases(turn, client)):
        raise EvidenceError("Wrong numbers need all statements before them and the accused's, and no other.")
    for phase in needed:
        _require_heard(turn, client, phase)
    numbers = statements.checks().get(client)
    if numbers is None or statements.lacking(TurnPhase.MADE) or statements.lacking(TurnPhase.REVEAL):
        raise EvidenceError("A statement before the accused's numbers is malformed.")
    pieces = {worker: digests[part] for worker, digests in statements.pieces().items()}
    mean = statements.means()[workers[part]]
    contents = _contents(evidence, {mean, pieces[client]}, set(pieces.values()))
    size = _size(turn, pieces, contents, client)
    coin, radius = coin_seed(tossed_coin(statements.coins())), part_radius(turn.state.radius, size)
    own, of_mean = part_values(contents[pieces[client]], size), part_values(contents[mean], size)
    with np.errstate(all="ignore"):
        products, lengths = part_numbers([own], of_mean, radius, coin, part)
    if not all(map(math.isfinite, (*products, *lengths))):
        raise EvidenceError("The numbers of its piece are not finite: their bits differ between machines.")
    if (numbers.products[part], numbers.lengths[part]) == (products[0], lengths[0]):
        raise EvidenceError("The numbers are right: computed again they are the same.")


def _worked(evidence: BanEvidence, turn: EvidenceTurn) -> tuple[TurnStatements, tuple[str, ...], int]:
    statements = turn.statements()
    workers = statements.roles.workers
    if evidence.client not in workers:
        raise EvidenceError("The accused did not work in this turn.")
    if evidence.part >= len(workers):
        raise EvidenceError(f"There is no part {evidence.part} of {len(workers)}.")
    if turn.log.two_words():
        raise EvidenceError("A member said two things: nothing else follows from them.")
    return statements, workers, evidence.part


def _phases(turn: EvidenceTurn, client: str) -> list[TurnPhase]:
    return [phase for phase in TurnPhase if client in turn.log.said(phase)]


def _require_heard(turn: EvidenceTurn, client: str, phase: TurnPhase) -> None:
    """Raises EvidenceError unless a statement follows what all others in the evidence say."""
    if turn.log.statement_of(phase, client).before != turn.log.heard_before(phase, turn.active):
        raise EvidenceError(f"The accused had not heard these statements when it said '{phase}'.")


def _contents(
    evidence: BanEvidence, needed: set[bytes], allowed: set[bytes] | None = None
) -> dict[bytes, bytes]:
    """Returns the bytes by digest. Raises EvidenceError where some lack, or nobody committed to them."""
    contents = by_digest(evidence.contents)
    if len(contents) != len(evidence.contents) or not needed.issubset(contents):
        raise EvidenceError("Bytes of a piece or mean are missing, or others than were committed to.")
    if not needed.union(allowed or ()).issuperset(contents):
        raise EvidenceError("It contains bytes that nobody committed to.")
    return contents


def _size(turn: EvidenceTurn, pieces: dict[str, bytes], contents: dict[bytes, bytes], client: str) -> int:
    """Returns how many values the part has: as more than half of the seated say, else the accused.

    Both are right for an accused that follows the protocol.
    """
    lengths = {worker: len(contents[one]) for worker, one in pieces.items() if one in contents}
    length, count = Counter(lengths.values()).most_common(1)[0]
    if not turn.is_majority(count):
        length = lengths[client]
    if length == 0 or length % _VALUE_BYTES:
        raise EvidenceError("The pieces do not have the bytes of values.")
    return length // _VALUE_BYTES
