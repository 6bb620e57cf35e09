"""Who does what in a turn of a Byzantine round, as the last state and its coin say."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from backend.crypto.round_context import fields, integer
from backend.protocols.mesh.byzantine.drawn_work import drawn_order, validations
from backend.protocols.mesh.byzantine.state import AgreedState, WorkCase

# A mean of one worker's piece alone is that piece, however far it is.
_LEAST_WORKERS = 2


@dataclass(frozen=True)
class TurnRoles:
    """The clients of a turn, ordered; owner of part k is `workers[k]`.

    `seated` members are as many as the state has present, of which more than half decide; `active` are those
    not yet removed. `audits` has the work that each validator judges instead of working itself.
    """

    seated: tuple[str, ...]
    active: tuple[str, ...]
    workers: tuple[str, ...]
    audits: dict[str, WorkCase]

    def is_majority(self, count: int) -> bool:
        """Whether so many are more than half of all seated."""
        return 2 * count > len(self.seated)


def roles_of(state: AgreedState, validators: int, without: Collection[str] = ()) -> TurnRoles:
    """Returns the roles in the round after `state`, once the members in `without` are removed.

    `validators` seated members judge others' work of the last round, one more a newcomer's, and one more each
    suspected or doubtful case. Where too few members would be left to work, a newcomer's work is judged in
    place of a member's: suspected work at once, else in every other round. Members that are unable to judge
    only work.
    """
    seated = state.membership.present(state.round + 1)
    worked = {work.client for work in state.works}
    unable = {one.client for one in state.unable}
    drawn = validations(state.coin, seated, [one for one in seated if one in worked], validators, unable)
    audits = {judge: WorkCase(target, state.round, judge) for judge, target in drawn.items()}
    further = [
        WorkCase(client, state.round, "")
        for client in drawn_order(state.coin, "newcomer", worked.difference(seated))[:1]
    ]
    able = [one for one in drawn_order(state.coin, "further", seated) if one not in unable]
    for case in (*state.suspected, *further, *state.doubtful):
        fitting = [one for one in able if one not in (*audits, case.target, case.validator)]
        left = len(seated) - len(audits)
        if validators and left > max(len(seated) // 2, _LEAST_WORKERS) and fitting:
            audits[fitting[0]] = WorkCase(case.target, case.round, fitting[0])
    for case in (*state.suspected, *(further if state.round % 2 else ()))[:1]:
        judge = next((one for one in audits if one != case.validator), None)
        if judge is not None and (case.target, case.round) not in _judged(audits):
            audits[judge] = WorkCase(case.target, case.round, judge)
    active = tuple(one for one in seated if one not in without)
    workers = tuple(one for one in active if one not in audits)
    return TurnRoles(seated, active, workers, {one: audits[one] for one in active if one in audits})


def _judged(audits: Mapping[str, WorkCase]) -> set[tuple[str, int]]:
    return {(case.target, case.round) for case in audits.values()}


def basis_of(state: AgreedState, attempt: tuple[int, int], active: Collection[str]) -> bytes:
    """Returns the SHA-256 that every statement of a turn is bound to.

    A round without a result is tried again from the same state: what members say in each `attempt` (its round
    and group as the convener numbers them) is no second word about the other.
    """
    names = (client.encode() for client in active)
    numbers = map(integer, attempt)
    return hashlib.sha256(fields(b"minga/mesh/1/basis", state.digest(), *numbers, *names)).digest()
