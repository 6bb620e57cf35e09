"""What follows from an exchange, after which all honest members have the same statements.

A pure function of them, so that nobody has to ask what others conclude.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
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
    """Nobody is at fault: the turn continues.

    Those `excused` lacked bytes or time; `settled` parts are right. All members show their pieces of
    `deferred` parts from the begin of the next exchange on: this one left no time for it.
    """

    excused: frozenset[tuple[TurnPhase, str]]
    settled: frozenset[int] = frozenset()
    deferred: frozenset[int] = frozenset()


Outcome: TypeAlias = Decided | Removed | Resumed


def outcome_of(
    statements: TurnStatements,
    exchange: int,
    excused: Collection[tuple[TurnPhase, str]],
    settled: Collection[int],
    deferred: Collection[int],
) -> Outcome:
    """Returns the outcome of an exchange.

    Those in `excused` were given time in that phase before; `settled` parts were found right, and `deferred`
    ones are disputed since its begin.
    """
    roles, log = statements.roles, statements.log
    signed = [state for state, count in statements.states().items() if roles.is_majority(count)]
    if len(signed) == 1:
        return Decided(signed[0])
    double = [client for client in sorted(log.two_words()) if client in roles.active]
    if double:
        # Which of two words was heard first differs, so nothing else follows from them.
        return Removed(dict.fromkeys(double, "two-words"))
    why, right, later = dict[str, Removal](), set[int](), set[int]()
    for part in sorted({*disputed_parts(statements, exchange), *deferred}.difference(settled)):
        wrong = _wrong(statements, exchange, part)
        if wrong is None and part not in deferred:
            # A liar may have withheld numbers, or its doubt, until there was no time left to show pieces.
            later.add(part)
        elif wrong is None:
            # All asked for the pieces in time: its owner showed them to some only.
            why.setdefault(roles.workers[part], "absent")
        elif wrong:
            why |= wrong
        else:
            right.add(part)
    lacking = statements.earliest_lacking()
    if why:
        return Removed(why)
    if right or lacking is None:
        return Resumed(frozenset(), frozenset(right), frozenset(later))
    return _absences(statements, exchange, lacking, excused, later)


def _absences(
    statements: TurnStatements,
    exchange: int,
    lacking: tuple[TurnPhase, Sequence[str]],
    excused: Collection[tuple[TurnPhase, str]],
    later: Collection[int],
) -> Outcome:
    """Returns what follows from the silence of the clients in `lacking`; `later` are parts deferred now."""
    why, given = dict[str, Removal](), set[tuple[TurnPhase, str]]()
    phase, clients = lacking
    for client in clients:
        call = _call_of(statements, exchange, client)
        behind = call is not None and PHASES.index(TurnPhase(call.phase)) < PHASES.index(phase)
        doubts = call is not None and not set(later).isdisjoint(call.disputed)
        if doubts or (behind and (phase, client) not in excused):
            # It waits for pieces, or came to this phase by the exchange: there may have been no time for it.
            given.add((phase, client))
        elif blamed := _withheld(statements, exchange, call):
            why |= dict.fromkeys(blamed, "absent")
        else:
            why[client] = "unrevealed" if phase is TurnPhase.REVEAL else "absent"
    return Removed(why) if why else Resumed(frozenset(given), deferred=frozenset(later))


def _call_of(statements: TurnStatements, exchange: int, client: str) -> CallBody | None:
    """Returns what a client said when the exchange began."""
    call = statements.log.said(numbered("call", exchange)).get(client)
    return call if isinstance(call, CallBody) else None


def _withheld(statements: TurnStatements, exchange: int, call: CallBody | None) -> list[str]:
    """Returns who committed to bytes that the caller lacks, and shows them to no majority.

    Where it lacks nothing, or does not say so, its silence is its own.
    """
    if call is None or not call.lacks:
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


def _wrong(statements: TurnStatements, exchange: int, part: int) -> dict[str, Removal] | None:
    """Returns whom the mean of a part, made again, convicts; None if no finding is that of more than half."""
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
    return None


def _one_each(findings: list[PartFinding]) -> list[PartFinding]:
    return list({one.part: one for one in findings}.values())
