"""Checks evidence against a member: says whom it convicts of what, or why it convicts nobody."""

from __future__ import annotations

from dataclasses import dataclass

from backend.errors import EvidenceError
from backend.protocols.mesh.byzantine.evidence.court_verdict import convicting_case
from backend.protocols.mesh.byzantine.evidence.evidence_turn import EvidenceTurn, read_turn
from backend.protocols.mesh.byzantine.evidence.remade_part import require_wrong_check, require_wrong_mean
from backend.wire.ban_evidence import BanEvidence, EvidenceKind, decode_evidence


@dataclass(frozen=True)
class Conviction:
    """Whom evidence convicts: the member whose Ed25519 key is `identity`, called `client` in the mesh.

    `number` is the round of what it did, `phase` that of its two statements, `part` that of a mean. In a
    case before the court `accuser` found the work of `target` to be other work; one of them is the member.
    """

    task: str
    run: str
    kind: EvidenceKind
    client: str
    identity: bytes
    number: int
    phase: str = ""
    part: int = 0
    accuser: str = ""
    target: str = ""


def convict(data: bytes, task: str | None = None, run: str | None = None) -> Conviction:
    """Returns whom the bytes of an evidence file convict, and of what.

    Raises EvidenceError, with the reason, if they convict nobody; or of something in another task or run
    than those given.
    """
    return check_evidence(decode_evidence(data), task, run)


def check_evidence(evidence: BanEvidence, task: str | None = None, run: str | None = None) -> Conviction:
    """Returns whom evidence convicts, as `convict` does."""
    if task not in (None, evidence.task) or run not in (None, evidence.run):
        raise EvidenceError(f"It is about another task or run: {evidence.task}, {evidence.run}.")
    if evidence.kind != "majority" and len(evidence.turns) != 1:
        raise EvidenceError("It contains statements of several turns, which need one.")
    turns = [read_turn(evidence, one) for one in evidence.turns]
    for turn in turns:
        if turn.state.membership.identities().get(evidence.client) != evidence.identity:
            raise EvidenceError("The accused has another key than the state in it says.")
    return _convict(evidence, turns)


def _convict(evidence: BanEvidence, turns: list[EvidenceTurn]) -> Conviction:
    turn, number, part = turns[0], turns[0].state.round + 1, evidence.part
    phase = accuser = target = ""
    match evidence.kind:
        case "two-words":
            phase = _phase_of_two_words(evidence, turn)
        case "wrong-mean":
            require_wrong_mean(evidence, turn)
        case "wrong-check":
            require_wrong_check(evidence, turn)
        case "majority":
            case = convicting_case(evidence, turns)
            number, accuser, target = case.round, case.validator, case.target
    return Conviction(
        evidence.task,
        evidence.run,
        evidence.kind,
        evidence.client,
        evidence.identity,
        number,
        phase,
        part,
        accuser,
        target,
    )


def _phase_of_two_words(evidence: BanEvidence, turn: EvidenceTurn) -> str:
    if evidence.contents or evidence.part:
        raise EvidenceError("Two statements need no bytes.")
    words = turn.log.two_words().get(evidence.client)
    if words is None or turn.count() != 2:
        raise EvidenceError("The accused did not say two different things in one phase.")
    return words[0].phase
