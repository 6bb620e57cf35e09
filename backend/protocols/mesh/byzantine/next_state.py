"""The state after a round, of what all said in its last turn: the same for everybody who heard the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from backend.crypto.statements import tossed_coin
from backend.protocols.mesh.byzantine.checks import measured_radius
from backend.protocols.mesh.byzantine.membership import Newcomer, RoundFacts, after_round
from backend.protocols.mesh.byzantine.outcome import CONVICTED, Removal
from backend.protocols.mesh.byzantine.roles import TurnRoles
from backend.protocols.mesh.byzantine.state import AgreedState, CheckedWork, WorkCase
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
    passed, failed, court, doubtful = _audited(state, roles, judged)
    convicted, withheld = _court(state, roles, judged)
    known = state.membership.identities()
    record = RoundFacts(
        number=state.round + 1,
        worked=[*roles.workers, *(one.client for one in seen)],
        absent=[client for client, why in removed.items() if why == "absent"],
        unrevealed=[client for client, why in removed.items() if why == "unrevealed"],
        convicted=[*(client for client, why in removed.items() if why in CONVICTED), *convicted],
        passed=passed,
        failed=failed,
        withheld=withheld,
        entered=[Newcomer(one.client, one.identity, 1) for one in seen if one.client not in known],
    )
    works = {client: log.digest_of(TurnPhase.COMMIT, client) for client in roles.workers}
    works |= {one.client: one.commit for one in seen}
    checks = list(statements.checks().values())
    return AgreedState(
        round=state.round + 1,
        weights=weights,
        slots=slots,
        coin=tossed_coin(statements.coins()),
        radius=_radius(state, terms, checks, sizes),
        membership=after_round(state.membership, record, terms.probation, terms.audits),
        works=tuple(CheckedWork(client, works[client]) for client in sorted(works)),
        court=tuple(court),
        doubtful=tuple(doubtful),
        rules=state.rules,
        before=state.digest(),
        said=log.transcript(roles.active),
    )


def _radius(
    state: AgreedState, terms: ByzantineTerms, checks: Sequence[CheckBody], sizes: Sequence[int]
) -> float:
    """Returns the radius of the next round; one worker alone measures none."""
    if terms.radius is not None:
        return terms.radius
    return measured_radius(checks, sizes) or state.radius


def _judgements(statements: TurnStatements) -> dict[str, list[WorkFinding]]:
    said = statements.of(TurnPhase.COMMIT)
    return {client: body.judgements for client, body in said.items() if isinstance(body, CommitBody)}


def _audited(
    state: AgreedState, roles: TurnRoles, judged: Mapping[str, Sequence[WorkFinding]]
) -> tuple[list[str], list[str], list[WorkCase], list[WorkCase]]:
    """Returns who passed, which newcomers failed, what goes to the court, and what to another validator."""
    passed, failed = list[str](), list[str]()
    court, doubtful = list[WorkCase](), list[WorkCase]()
    seats = {seat.client for seat in state.membership.seats}
    before = {(one.target, one.round) for one in state.doubtful}
    for validator, case in roles.audits.items():
        found = finding_about(judged[validator], case)
        if found == "same":
            passed.append(case.target)
        elif found == "doubtful" and (case.target, case.round) not in before:
            doubtful.append(case)
        elif found in ("other", "missing") and case.target not in seats:
            failed.append(case.target)
        elif found in ("other", "missing"):
            court.append(case if found == "other" else replace(case, validator=""))
    return passed, failed, court, doubtful


def _court(
    state: AgreedState, roles: TurnRoles, judged: Mapping[str, Sequence[WorkFinding]]
) -> tuple[list[str], list[str]]:
    """Returns whom the court convicts, and whose work was shown to no majority."""
    convicted, withheld = list[str](), list[str]()
    for case in state.court:
        found = Counter(finding_about(judgements, case) for judgements in judged.values())
        if roles.is_majority(found["other"]):
            convicted.append(case.target)
        elif roles.is_majority(found["same"]) and case.validator:
            convicted.append(case.validator)
        elif roles.is_majority(found["missing"]):
            withheld.append(case.target)
    return convicted, withheld


def finding_about(judgements: Sequence[WorkFinding], case: WorkCase) -> str | None:
    """Returns what a member found about the work of a case; None if it did not judge it."""
    for one in judgements:
        if (one.target, one.round) == (case.target, case.round):
            return one.found
    return None
