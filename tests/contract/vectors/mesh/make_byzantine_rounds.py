"""Writes byzantine_rounds.json: rounds of Byzantine meshes that both languages replay.

Run `python -m tests.contract.vectors.mesh.make_byzantine_rounds` after a change of the machine, and read the
difference. Each round holds the events of one honest member of a schedule
(tests/support/protocols/byzantine/schedules.py), what it did, and when its timer was due afterwards.
Bytes are hexadecimal, statements are numbered, and those who passed one on have their clients' names.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import msgspec

from backend.crypto.statements import Statement
from backend.protocols.mesh.byzantine.machine import ByzantineRound, Toss
from backend.protocols.mesh.byzantine.round_events import RoundEffect, RoundEvent, StatementReceived
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_bodies import Judged
from backend.wire.byzantine_messages import ByzantineTerms
from tests.contract.vectors import write
from tests.support.protocols.byzantine.liars import WRONG_OWNER
from tests.support.protocols.byzantine.member_host import hashed_keys
from tests.support.protocols.byzantine.schedules import NARROW, schedule
from tests.support.protocols.byzantine.world import SIZE, TERMS, Lies, World, honest_work, newcomers

# Seed of a schedule, number of the round, and client: all kinds of effects, removals and outcomes.
CHOSEN = (
    (4, 4, "0000000000000001"),
    (19, 1, "0000000000000003"),
    (31, 1, "0000000000000001"),
    (31, 2, "0000000000000002"),
    (43, 2, "0000000000000000"),
    (43, 3, "0000000000000000"),
    (43, 3, "0000000000000001"),
    (44, 1, "0000000000000001"),
    (46, 1, "0000000000000001"),
    (46, 3, "0000000000000001"),
    (51, 2, "0000000000000002"),
    (51, 2, "0000000000000003"),
    (70, 1, "0000000000000001"),
    (809, 1, "0000000000000002"),
)
HONEST, LYING, UNABLE = (f"{number:016x}" for number in range(3))


class RecordedRound(ByzantineRound):
    """A machine that remembers its begin, its events and its effects."""

    def __init__(
        self,
        task: str,
        run: str,
        terms: ByzantineTerms,
        state: AgreedState,
        attempt: tuple[int, int],
        client: str,
        clients: Mapping[str, bytes],
        bounds: Callable[[int], list[int]],
        now: float,
        toss: Toss,
    ) -> None:
        self.tosses: list[tuple[bytes, bytes]] = []
        self.steps: list[tuple[float, RoundEvent, list[RoundEffect], float | None]] = []

        def tossed() -> tuple[bytes, bytes]:
            self.tosses.append(toss())
            return self.tosses[-1]

        self.client, self.clients = client, dict(clients)
        self.begin: dict[str, Any] = {
            "task": task,
            "run": run,
            "terms": terms,
            "state": state,
            "attempt": attempt,
            "client": client,
            "clients": list(clients.items()),
            "size": SIZE,
            "now": now,
        }
        super().__init__(task, run, terms, state, attempt, client, clients, bounds, now, tossed)

    def happened(self, event: RoundEvent, now: float) -> list[RoundEffect]:
        """Remembers the step."""
        effects = super().happened(event, now)
        self.steps.append((now, event, effects, self.timer()))
        return effects


def with_a_newcomer() -> World:
    """Returns a world that measures its radius, where a newcomer earns a seat.

    One member doubts all work, and one cannot judge any.
    """
    terms = msgspec.structs.replace(TERMS, radius=None, probation=3)
    doubtful = Lies(judge=lambda one: msgspec.structs.replace(one, found="doubtful"))
    unable = Lies(judge=lambda one: msgspec.structs.replace(one, found="unable"))
    lies = {LYING: doubtful, UNABLE: unable}
    return World(5, Random(0), lies, terms, entering=1, machine=RecordedRound)


def with_lies_about_newcomers(seed: int) -> World:
    """Returns a world of two newcomers: one is accused falsely, the other's false work called right."""
    accused, false = newcomers(2)
    words: dict[str, Judged] = {accused: "other", false: "same"}
    lies = {
        LYING: Lies(judge=lambda one: msgspec.structs.replace(one, found=words.get(one.target, one.found))),
        false: Lies(work=lambda state, client: -honest_work(state, client)),
    }
    terms = msgspec.structs.replace(TERMS, audits=3)
    return World(5, Random(seed), lies, terms, entering=2, machine=RecordedRound)


def played(world: World, rounds: int) -> list[list[RecordedRound]]:
    """Returns the machines of all honest members in each of the first rounds."""
    found = []
    for _ in range(rounds):
        world.play_round()
        machines = [host.machine for host in world.honest]
        found.append([one for one in machines if isinstance(one, RecordedRound)])
        world.settle()
    return found


class Writer:
    """Writes values as JSON has them, and numbers the statements."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self._numbers: dict[Statement, int] = {}

    def plain(self, value: Any) -> Any:
        """Returns the value as JSON has it."""
        match value:
            case bytes():
                return value.hex()
            case Statement():
                if value not in self._numbers:
                    self._numbers[value] = len(self.statements)
                    self.statements.append(value)
                return self._numbers[value]
            case list() | tuple():
                return [self.plain(one) for one in value]
            case dict():
                return {name: self.plain(one) for name, one in value.items()}
            case msgspec.Struct():
                return {name: self.plain(getattr(value, name)) for name in value.__struct_fields__}
            case _ if dataclasses.is_dataclass(value):
                return {one.name: self.plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
            case _:
                return value

    def tagged(self, value: RoundEvent | RoundEffect, clients: Mapping[bytes, str]) -> dict[str, Any]:
        """Returns an event or effect with its type."""
        tag = re.sub(r"(?<!^)([A-Z])", r"_\1", type(value).__name__).lower()
        signers = (
            {"signers": [clients[one] for one in value.signers]}
            if isinstance(value, StatementReceived)
            else {}
        )
        fields: dict[str, Any] = self.plain(value)
        return {"type": tag} | fields | signers

    def round(self, machine: RecordedRound) -> dict[str, Any]:
        """Returns the round of one member."""
        clients = {identity: client for client, identity in machine.clients.items()}
        steps = [
            {
                "now": now,
                "event": self.tagged(event, clients),
                "effects": [self.tagged(effect, clients) for effect in effects],
                "timer": timer,
            }
            for now, event, effects, timer in machine.steps
        ]
        begin: dict[str, Any] = self.plain(machine.begin)
        return begin | {"tosses": self.plain(machine.tosses), "steps": steps}


def stories() -> Iterator[tuple[str, World, list[tuple[int, str]]]]:
    """Yields worlds with their names, and the numbers of rounds and the clients of whom they tell."""
    for seed, chosen in itertools.groupby(CHOSEN, key=lambda one: one[0]):
        yield f"schedule {seed}", schedule(seed, RecordedRound).world, [one[1:] for one in chosen]
    yield "doubted means", World(4, Random(0), {}, NARROW, machine=RecordedRound), [(1, HONEST)]
    yield "a wrong mean", World(3, Random(0), {LYING: WRONG_OWNER}, machine=RecordedRound), [(1, HONEST)]
    yield "a newcomer", with_a_newcomer(), [(number, HONEST) for number in range(1, 8)]
    # The court convicts the first validator in one, and the second one in the other.
    for seed in (1, 3):
        name = f"lies about newcomers, seed {seed}"
        yield name, with_lies_about_newcomers(seed), [(number, HONEST) for number in (5, 6)]


def files() -> dict[str, str]:
    """The golden file and its content."""
    writer, rounds = Writer(), list[str]()
    with hashed_keys():
        for name, world, wanted in stories():
            machines = played(world, max(number for number, _ in wanted))
            for number, client in wanted:
                (machine,) = (one for one in machines[number - 1] if one.client == client)
                told = {"name": f"{name}, round {number}"} | writer.round(machine)
                rounds.append(json.dumps(told, separators=(",", ":")))
    statements = [json.dumps(writer.plain(vars(one)), separators=(",", ":")) for one in writer.statements]
    lines = ",\n".join(statements), ",\n".join(rounds)
    return {"byzantine_rounds.json": f'{{"statements":[\n{lines[0]}\n],"rounds":[\n{lines[1]}\n]}}\n'}


if __name__ == "__main__":
    write(files())
