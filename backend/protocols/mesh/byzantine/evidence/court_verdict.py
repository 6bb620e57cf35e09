"""What more than half of the seated members found about a member's work, and that it belongs to their mesh.

Anybody can make up a state whose members are all its own. So evidence begins with a state that the accused
itself took part in a round after, and each later state is signed by more than half of the members before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from backend.errors import EvidenceError
from backend.protocols.mesh.byzantine.evidence.evidence_turn import EvidenceTurn
from backend.protocols.mesh.byzantine.next_state import finding_about
from backend.protocols.mesh.byzantine.state import WorkCase
from backend.protocols.mesh.byzantine.turn_log import TurnPhase
from backend.wire.ban_evidence import BanEvidence
from backend.wire.byzantine_bodies import CommitBody, VerdictBody


def convicting_case(evidence: BanEvidence, turns: Sequence[EvidenceTurn]) -> WorkCase:
    """Returns the case in which the court convicted the accused. Raises EvidenceError if it did not."""
    if evidence.contents or evidence.part:
        raise EvidenceError("A majority's verdict contains no bytes.")
    first, last = turns[0], turns[-1]
    if evidence.turns[0].said[0].identity != evidence.identity:
        raise EvidenceError("Nothing shows that the accused was a member of this mesh.")
    for turn, following in pairwise(turns):
        _require_follows(turn, following, 1 if turn is first else 0)
    for case in last.state.court:
        judges = _judges(last, case, case.convicting(evidence.client))
        if last.is_majority(len(judges)) and last.count() == len(
            judges.union(_anchor(evidence, last, first))
        ):
            return case
    raise EvidenceError("No more than half of the members found the accused at fault.")


def _anchor(evidence: BanEvidence, last: EvidenceTurn, first: EvidenceTurn) -> set[str]:
    return {evidence.client} if last is first else set()


def _judges(turn: EvidenceTurn, case: WorkCase, wanted: str | None) -> set[str]:
    said = turn.log.said(TurnPhase.COMMIT)
    return {
        client
        for client, body in said.items()
        if isinstance(body, CommitBody) and wanted and finding_about(body.judgements, case) == wanted
    }


def _require_follows(turn: EvidenceTurn, following: EvidenceTurn, others: int) -> None:
    """Raises EvidenceError unless the state of `following` is the same, or more than half signed it.

    So many `others` statements may be there besides.
    """
    digest, before = following.state.digest(), turn.state.digest()
    if digest == before:
        if turn.count() != others:
            raise EvidenceError("It contains statements that show nothing.")
        return
    signed = [
        client
        for client, body in turn.log.said(TurnPhase.VERDICT).items()
        if isinstance(body, VerdictBody) and body.state == digest
    ]
    follows = following.state.before == before and following.state.round == turn.state.round + 1
    if not follows or not turn.is_majority(len(signed)):
        raise EvidenceError("No more than half of the members agreed on the state with the accusation.")
    if turn.count() > len(signed) + others:
        raise EvidenceError("It contains statements that show nothing.")
