"""What follows from an exchange, after which all honest members have the same statements.

A pure function of them, so that nobody has to ask what others conclude.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from backend.protocols.mesh.byzantine.turn_log import PHASES, TurnPhase, numbered
from backend.protocols.mesh.byzantine.turn_statements import TurnStatements
from backend.wire.byzantine_bodies import CallBody, PartFinding, ShownBody

# Two things said, a wrong mean, wrong numbers: evidence that anybody can check. The others lose less.
Removal: TypeAlias = Literal["two-words", "wrong-mean", "wrong-check", "unrevealed", "absent"]
CONVICTED: frozenset[Removal] = frozenset({"two-words", "wrong-mean", "wrong-check"})


@dataclass(frozen=True)
class Decided:
    """More than half signed this state, and no other."""

    state: bytes


@dataclass(frozen=True)
class Removed:
    """The turn is done again without these clients."""

    why: dict[str, Removal]


@dataclass(frozen=True)
class Resumed:
    """Nobody is at fault: the turn continues. Those `excused` lacked bytes; `settled` parts are right."""

    excused: frozenset[tuple[TurnPhase, str]]
    settled: frozenset[int]


Outcome: TypeAlias = Decided | Removed | Resumed


def outcome_of(
    statements: TurnStatements,
    exchange: int,
    excused: Collection[tuple[TurnPhase, str]],
    settled: Collection[int],
) -> Outcome:
    """Returns the outcome of an exchange.

    Those in `excused` were given time in that phase before; `settled` parts were found right.
    """
    roles, log = statements.roles, statements.log
    signed = [state for state, count in statements.states().items() if roles.is_majority(count)]
    if len(signed) == 1:
        return Decided(signed[0])
    double = [client for client in sorted(log.two_words()) if client in roles.active]
    if double:
        # Which of two words was heard first differs, so nothing else follows from them.
        return Removed(dict.fromkeys(double, "two-words"))
    why = dict[str, Removal]()
    disputed = [part for part in disputed_parts(statements, exchange) if part not in settled]
    right = set[int]()
    for part in disputed:
        wrong = _wrong(statements, exchange, part)
        why = wrong | why
        if not wrong:
            right.add(part)
    lacking = statements.earliest_lacking()
    if why or right or lacking is None:
        return Removed(why) if why else Resumed(frozenset(), frozenset(right))
    phase, clients = lacking
    given = set[tuple[TurnPhase, str]]()
    for client in clients:
        came_to = _came_to(statements, exchange, client)
        if came_to is not None and came_to < PHASES.index(phase) and (phase, client) not in excused:
            # It came to this phase by the exchange, in which there may have been no time for it.
            given.add((phase, client))
        elif blamed := _withheld(statements, exchange, client):
            why |= dict.fromkeys(blamed, "absent")
        else:
            why[client] = "unrevealed" if phase is TurnPhase.REVEAL else "absent"
    return Removed(why) if why else Resumed(frozenset(given), frozenset())


def _came_to(statements: TurnStatements, exchange: int, client: str) -> int | None:
    """Returns the number of the phase that a client had come to when the exchange began."""
    call = statements.log.said(numbered("call", exchange)).get(client)
    return PHASES.index(TurnPhase(call.phase)) if isinstance(call, CallBody) else None


def _withheld(statements: TurnStatements, exchange: int, client: str) -> list[str]:
    """Returns who committed to bytes that the client lacks, and shows them to no majority.

    Where it lacks nothing, or does not say so, its silence is its own.
    """
    call = statements.log.said(numbered("call", exchange)).get(client)
    if not isinstance(call, CallBody) or not call.lacks:
        return []
    held = Counter(digest for one in _shown(statements, exchange).values() for digest in set(one.holds))
    authors = _authors(statements)
    withheld = [digest for digest in call.lacks if not statements.roles.is_majority(held[digest])]
    return sorted({authors[digest] for digest in withheld if digest in authors})


def _authors(statements: TurnStatements) -> dict[bytes, str]:
    pieces = {digest: client for client, digests in statements.pieces().items() for digest in digests}
    return pieces | {digest: client for client, digest in statements.means().items()}


def _shown(statements: TurnStatements, exchange: int) -> dict[str, ShownBody]:
    said = statements.log.said(numbered("shown", exchange))
    return {
        client: body
        for client, body in said.items()
        if client in statements.roles.active and isinstance(body, ShownBody)
    }


def disputed_parts(statements: TurnStatements, exchange: int) -> list[int]:
    """Returns the parts whose mean an active member doubts in an exchange, once all made theirs."""
    if statements.lacking(TurnPhase.CHECK):
        return []
    said = statements.log.said(numbered("call", exchange))
    doubted = {
        part
        for client, body in said.items()
        if client in statements.roles.active and isinstance(body, CallBody)
        for part in body.disputed
        if part < len(statements.roles.workers)
    }
    return sorted(doubted)


def _wrong(statements: TurnStatements, exchange: int, part: int) -> dict[str, Removal]:
    """Returns whom the mean of a part, made again, convicts.

    If no finding is that of more than half, the owner showed its pieces to some only.
    """
    workers = statements.roles.workers
    findings = Counter(
        (tuple(one.wrong), one.wrong_mean)
        for body in _shown(statements, exchange).values()
        for one in _one_each(body.findings)
        if one.part == part and one.wrong is not None
    )
    for (places, wrong_mean), count in findings.items():
        if statements.roles.is_majority(count):
            found: dict[str, Removal] = {
                workers[place]: "wrong-check" for place in places if place < len(workers)
            }
            return found | ({workers[part]: "wrong-mean"} if wrong_mean else {})
    return {workers[part]: "absent"}


def _one_each(findings: list[PartFinding]) -> list[PartFinding]:
    return list({one.part: one for one in findings}.values())
