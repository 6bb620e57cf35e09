"""What liars do in a Byzantine mesh: they share their keys and know everything, and draw lies from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from msgspec.structs import replace

from backend.crypto.statements import SignedStatement, Statement, relay, say
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine.round_events import MeanMade, MeansChecked
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_bodies import (
    Body,
    CallBody,
    CheckBody,
    CommitBody,
    MadeBody,
    PartFinding,
    ShownBody,
    VerdictBody,
    decode_body,
    encode_body,
)
from tests.support.protocols.byzantine.member_host import Spoken
from tests.support.protocols.byzantine.world import Lies, World, honest_work

_PHASES = ("commit", "made", "reveal", "check", "verdict", "call", "shown")


@dataclass
class Liar(Lies):
    """A member that lies as its rules say; each may change, drop or delay what it sends to whom."""

    rules: list[Callable[[World, str, str, Any], list[tuple[float, Any]] | None]] = field(
        default_factory=list
    )
    told: list[str] = field(default_factory=list)


def liar(random: Random, victims: list[str], fellows: list[str]) -> Liar:
    """Returns a liar with one to three lies."""
    found = Liar()
    for _ in range(random.choice((1, 1, 2, 3))):
        random.choice(_LIES)(found, random, victims, fellows)

    def send(world: World, sender: str, to: str, frame: Any) -> list[tuple[float, Any]]:
        sent = [(0.0, frame)]
        for rule in found.rules:
            after = list[tuple[float, Any]]()
            for wait, one in sent:
                changed = rule(world, sender, to, one)
                after += [(wait, one)] if changed is None else [(wait + more, new) for more, new in changed]
            sent = after
        return sent

    found.send = send
    return found


def newcomers_lie(random: Random, victims: list[str]) -> Lies:
    """Returns a newcomer that does wrong work, or tells some of its work only."""
    if random.random() < 0.5:
        return Lies(work=lambda state, client: -honest_work(state, client))
    told = set(random.sample(victims, random.randint(1, len(victims))))
    return Lies(send=lambda _world, _sender, to, frame: [(0.0, frame)] if to in told else [])


def own(world: World, sender: str, frame: Any, kind: str) -> SignedStatement | None:
    """Returns the frame's statement if it is the sender's own of a phase of this kind."""
    if not isinstance(frame, Spoken):
        return None
    statement = frame.statement
    mine = statement.identity == world.identities[sender]
    return statement if mine and statement.phase.partition("-")[0] == kind else None


def said_again(world: World, sender: str, statement: Statement, body: Body) -> Spoken:
    """Returns another statement in place of one, truly signed."""
    host = world.hosts[sender]
    changed = say(host.private, host.turn, statement.phase, statement.before, encode_body(body))
    return Spoken(host.turn.turn, changed)


def _some(random: Random, victims: list[str]) -> set[str]:
    return set(random.sample(victims, random.randint(1, len(victims))))


def _silent(found: Liar, random: Random, victims: list[str], _fellows: list[str]) -> None:
    """Says nothing of a phase to some or all."""
    phase, to_whom = random.choice(_PHASES), _some(random, victims)
    found.told.append(f"silent in {phase} to {sorted(to_whom)}")

    def rule(world: World, sender: str, to: str, frame: Any) -> list[tuple[float, Any]] | None:
        return [] if to in to_whom and own(world, sender, frame, phase) else None

    found.rules.append(rule)


def _dead(found: Liar, random: Random, _victims: list[str], _fellows: list[str]) -> None:
    """Sends nothing at all from some time on."""
    time = random.uniform(0.0, 30.0)
    found.told.append(f"dead from {time:.1f}")
    found.rules.append(lambda world, _sender, _to, _frame: [] if world.now > time else None)


def _late(found: Liar, random: Random, victims: list[str], fellows: list[str]) -> None:
    """Says something late to some, signed by all liars so that it counts."""
    phase, to_whom = random.choice(_PHASES), _some(random, victims)
    wait, helped = random.uniform(0.0, 40.0), random.random() < 0.7
    found.told.append(f"late in {phase} to {sorted(to_whom)} by {wait:.1f}, helped {helped}")

    def rule(world: World, sender: str, to: str, frame: Any) -> list[tuple[float, Any]] | None:
        if to not in to_whom or not (statement := own(world, sender, frame, phase)):
            return None
        turn = world.hosts[sender].turn
        passed_on = tuple(
            (world.identities[fellow], relay(world.hosts[fellow].private, turn, statement))
            for fellow in (fellows if helped else ())
        )
        return [(wait, Spoken(frame.turn, statement, passed_on))]

    found.rules.append(rule)


def _changed(body: Body, random: Random, workers: int) -> Body:
    """Returns something else to say in the phase of a body."""
    other = random.randbytes(32)
    part = random.randrange(max(1, workers))
    match body:
        case CommitBody():
            if body.pieces and random.random() < 0.5:
                return replace(body, pieces=[other, *body.pieces[1:]])
            return replace(body, coin=other)
        case MadeBody():
            return replace(body, mean=other)
        case CheckBody() if body.products:
            return replace(body, products=[one + random.choice((1e-3, 5.0)) for one in body.products])
        case VerdictBody():
            return replace(body, state=other)
        case CallBody():
            return replace(body, lacks=[other], disputed=[part])
        case ShownBody():
            places = [random.randrange(max(1, workers))]
            return replace(body, holds=[], findings=[PartFinding(part, places, random.random() < 0.5)])
        case _:
            return body


def _two_words(found: Liar, random: Random, victims: list[str], _fellows: list[str]) -> None:
    """Says one thing to some and another to the others; or the same wrong thing to everybody."""
    phase = random.choice(_PHASES)
    to_whom = _some(random, victims) if random.random() < 0.6 else set(victims)
    seed = random.getrandbits(32)
    found.told.append(f"other words in {phase} to {sorted(to_whom)}")

    def rule(world: World, sender: str, to: str, frame: Any) -> list[tuple[float, Any]] | None:
        if to not in to_whom or not (statement := own(world, sender, frame, phase)):
            return None
        machine, body = world.hosts[sender].machine, decode_body(statement.body)
        assert machine is not None
        assert body is not None
        changed = _changed(body, Random(seed + len(statement.phase)), len(machine.turn.roles.workers))
        return [(0.0, said_again(world, sender, statement, changed))]

    found.rules.append(rule)


def _withheld(found: Liar, random: Random, victims: list[str], _fellows: list[str]) -> None:
    """Keeps pieces and means from some."""
    to_whom, share = _some(random, victims), random.choice((0.5, 1.0))
    found.told.append(f"keeps {share} of its bytes from {sorted(to_whom)}")

    def rule(world: World, _sender: str, to: str, frame: Any) -> list[tuple[float, Any]] | None:
        kept = isinstance(frame, tuple) and to in to_whom and world.random.random() < share
        return [] if kept else None

    found.rules.append(rule)


def _tells_nothing_of_others(found: Liar, _random: Random, _victims: list[str], _fellows: list[str]) -> None:
    """Passes nothing on."""
    found.told.append("passes nothing on")

    def rule(world: World, sender: str, _to: str, frame: Any) -> list[tuple[float, Any]] | None:
        if not isinstance(frame, Spoken):
            return None
        return None if frame.statement.identity == world.identities[sender] else []

    found.rules.append(rule)


def _bad_work(found: Liar, random: Random, _victims: list[str], _fellows: list[str]) -> None:
    factor = random.choice((-1000.0, -1.0, 0.0))
    found.told.append(f"work times {factor}")

    def work(state: AgreedState, client: str) -> Vector:
        return np.float32(factor) * honest_work(state, client)

    found.work = work


def _wrong_mean(found: Liar, random: Random, _victims: list[str], _fellows: list[str]) -> None:
    size = random.choice((1e-4, 0.5, 100.0))
    found.told.append(f"mean moved by {size}")
    before = found.event

    def event(world: World, client: str, happened: Any) -> Any:
        happened = before(world, client, happened) if before else happened
        if not isinstance(happened, MeanMade):
            return happened
        host = world.hosts[client]
        return MeanMade(world.keep(host, host.held[happened.digest] + np.float32(size)))

    found.event = event


def _wrong_numbers(found: Liar, random: Random, _victims: list[str], _fellows: list[str]) -> None:
    """Numbers that hide fellows' means, or hurt."""
    factor = random.choice((0.0, 0.5, 1e6))
    found.told.append(f"numbers times {factor}")
    before = found.event

    def event(world: World, client: str, happened: Any) -> Any:
        happened = before(world, client, happened) if before else happened
        if not isinstance(happened, MeansChecked):
            return happened
        return MeansChecked(
            [factor * one for one in happened.products],
            [factor * one for one in happened.lengths],
            happened.own_products,
            happened.own_lengths,
        )

    found.event = event


def _false_judgement(found: Liar, random: Random, _victims: list[str], _fellows: list[str]) -> None:
    says = random.choice(("other", "missing", "doubtful", "same", None))
    found.told.append(f"judges {says}")
    found.judge = lambda one: None if says is None else replace(one, found=says)


def _calls(found: Liar, random: Random, victims: list[str], _fellows: list[str]) -> None:
    """Calls for an exchange whenever it says something of a phase, to some."""
    phase, to_whom = random.choice(_PHASES[:5]), _some(random, victims)
    found.told.append(f"calls in {phase} to {sorted(to_whom)}")

    def rule(world: World, sender: str, to: str, frame: Any) -> list[tuple[float, Any]] | None:
        if to not in to_whom or not (statement := own(world, sender, frame, phase)):
            return None
        call = Statement(statement.identity, "call-1", statement.before, b"")
        return [(0.0, frame), (0.1, said_again(world, sender, call, CallBody("commit", [], [0])))]

    found.rules.append(rule)


_LIES = (
    _silent,
    _dead,
    _late,
    _late,
    _two_words,
    _two_words,
    _two_words,
    _withheld,
    _tells_nothing_of_others,
    _bad_work,
    _wrong_mean,
    _wrong_numbers,
    _false_judgement,
    _calls,
)


def _moved_mean(world: World, client: str, event: Any) -> Any:
    if not isinstance(event, MeanMade):
        return event
    host = world.hosts[client]
    return MeanMade(world.keep(host, host.held[event.digest] + np.float32(0.5)))


# Makes a mean that is far from the pieces.
WRONG_OWNER = Lies(event=_moved_mean)
