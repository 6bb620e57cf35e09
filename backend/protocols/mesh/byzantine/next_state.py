"""The state after a round, of what all said in its last turn: the same for everybody who heard the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from backend.crypto.statements import tossed_coin
from backend.protocols.mesh.byzantine.checks import measured_radius, next_radius
from backend.protocols.mesh.byzantine.membership import MeshMembership, Newcomer, RoundFacts, after_round
from backend.protocols.mesh.byzantine.outcome import CONVICTED, Removal
from backend.protocols.mesh.byzantine.roles import TurnRoles
from backend.protocols.mesh.byzantine.state import (
    UNABLE_ROUNDS,
    AgreedState,
    CheckedWork,
    UnableMember,
    WorkCase,
)
from backend.protocols.mesh.byzantine.turn_log import TurnPhase
from backend.protocols.mesh.byzantine.turn_statements import TurnStatements
from backend.wire.byzantine_bodies import CheckBody, CommitBody, WorkFinding
from backend.wire.byzantine_messages import ByzantineTerms


def next_state(
    state: AgreedState,
    terms: ByzantineTerms,
    statements: TurnStatements,
    removed: Mapping[str, Removal],
    sizes: Sequence[int],
    weights: bytes,
    slots: bytes,
) -> AgreedState:
    """Returns the state after the turn of `statements`, which is complete.

    `removed` were removed in earlier turns of the round. `sizes` are those of the parts, `weights` and
    `slots` SHA-256 after the outer step.
    """
    roles, log = statements.roles, statements.log
    banned = state.membership.banned
    seen = [one for one in statements.newcomers() if one.identity not in banned]
    judged = _judgements(statements)
    audited, ruling = _audited(state, roles, judged), _court(state, roles, judged)
    known = state.membership.identities()
    record = RoundFacts(
        number=state.round + 1,
        worked=[*roles.workers, *(one.client for one in seen)],
        absent=[client for client, why in removed.items() if why == "absent"],
        unrevealed=[client for client, why in removed.items() if why == "unrevealed"],
        convicted=[*(client for client, why in removed.items() if why in CONVICTED), *ruling.convicted],
        passed=audited.passed,
        failed=[*audited.failed, *ruling.failed],
        pending=[case.target for case in (*audited.court, *audited.doubtful, *audited.suspected)],
        withheld=ruling.withheld,
        entered=[Newcomer(one.client, one.identity, 1) for one in seen if one.client not in known],
    )
    works = {client: log.digest_of(TurnPhase.COMMIT, client) for client in roles.workers}
    works |= {one.client: one.commit for one in seen}
    checks = list(statements.checks().values())
    membership = after_round(state.membership, record, terms.probation, terms.audits)
    return AgreedState(
        round=state.round + 1,
        weights=weights,
        slots=slots,
        coin=tossed_coin(statements.coins()),
        radius=_radius(state, terms, checks, sizes),
        membership=membership,
        works=tuple(CheckedWork(client, works[client]) for client in sorted(works)),
        court=tuple(audited.court),
        doubtful=tuple(audited.doubtful),
        suspected=tuple(audited.suspected),
        rules=state.rules,
        before=state.digest(),
        said=log.transcript(roles.active),
        unable=_unable(state, roles, judged, membership),
    )


def _radius(
    state: AgreedState, terms: ByzantineTerms, checks: Sequence[CheckBody], sizes: Sequence[int]
) -> float:
    """Returns the radius of the next round; one worker alone measures none."""
    if terms.radius is not None:
        return terms.radius
    return next_radius(state.radius, measured_radius(checks, sizes))


def _judgements(statements: TurnStatements) -> dict[str, list[WorkFinding]]:
    said = statements.of(TurnPhase.COMMIT)
    return {client: body.judgements for client, body in said.items() if isinstance(body, CommitBody)}


@dataclass
class _Audited:
    """Who passed at which validator, which newcomers failed, and what others are to judge again."""

    passed: list[tuple[str, str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    court: list[WorkCase] = field(default_factory=list)
    doubtful: list[WorkCase] = field(default_factory=list)
    suspected: list[WorkCase] = field(default_factory=list)


def _audited(state: AgreedState, roles: TurnRoles, judged: Mapping[str, Sequence[WorkFinding]]) -> _Audited:
    """Returns what follows from the validators' findings.

    Names cost nothing, so not all do a newcomer's work again: a second validator does. Where it contradicts
    the first one all do, and ban who lied, so that nobody keeps newcomers out, or in, by lies at no cost.
    """
    audited = _Audited()
    seats = {seat.client for seat in state.membership.seats}
    doubted = {(one.target, one.round) for one in state.doubtful}
    accusers = {(one.target, one.round): one.validator for one in state.suspected}
    for validator, case in roles.audits.items():
        found, work = finding_about(judged[validator], case), (case.target, case.round)
        if found == "same" and work in accusers:
            audited.court.append(replace(case, validator=accusers[work], second=validator))
        elif found == "same":
            audited.passed.append((case.target, validator))
        elif found == "doubtful" and work not in doubted and work not in accusers:
            audited.doubtful.append(case)
        elif found in ("other", "missing") and case.target in seats:
            audited.court.append(case if found == "other" else replace(case, validator=""))
        elif found in ("other", "missing") and (work in doubted or work in accusers):
            audited.failed.append(case.target)
        elif found in ("other", "missing"):
            (audited.suspected if found == "other" else audited.doubtful).append(case)
    return audited


@dataclass
class _CourtRuling:
    """Whom the court convicts, which newcomers' work it found wrong, and whose was shown to no majority."""

    convicted: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)


def _court(state: AgreedState, roles: TurnRoles, judged: Mapping[str, Sequence[WorkFinding]]) -> _CourtRuling:
    ruling = _CourtRuling()
    for case in state.court:
        counts = Counter(finding_about(judgements, case) for judgements in judged.values())
        found = next((one for one, count in counts.items() if one and roles.is_majority(count)), "")
        if convicted := case.convicts(found):
            ruling.convicted.append(convicted)
        if found == "other" and case.second:
            ruling.failed.append(case.target)
        if found == "missing":
            ruling.withheld.append(case.target)
    return ruling


def _unable(
    state: AgreedState,
    roles: TurnRoles,
    judged: Mapping[str, Sequence[WorkFinding]],
    membership: MeshMembership,
) -> tuple[UnableMember, ...]:
    """Returns the members that said lately that they cannot judge, and have judged nothing since."""
    number = state.round + 1
    since = {one.client: one.round for one in state.unable if number - one.round < UNABLE_ROUNDS}
    for client, judgements in judged.items():
        own = [roles.audits[client]] if client in roles.audits else []
        found = {finding_about(judgements, case) for case in (*state.court, *own)}
        if "unable" in found:
            since[client] = number
        elif found.intersection(("same", "doubtful", "other")):
            since.pop(client, None)
    seats = [seat.client for seat in membership.seats]
    return tuple(UnableMember(client, since[client]) for client in seats if client in since)


def finding_about(judgements: Sequence[WorkFinding], case: WorkCase) -> str | None:
    """Returns what a member found about the work of a case; None if it did not judge it."""
    for one in judgements:
        if (one.target, one.round) == (case.target, case.round):
            return one.found
    return None
