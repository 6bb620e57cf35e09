"""Writes worker.json: conversations that the Python and the TypeScript client of work units replay.

Run `python -m tests.contract.vectors.client.make_unit_client` after a change of the machine, and read the
difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from backend.protocols.client.unit_client import UnitClientMachine, UnitClientPhase
from backend.protocols.client.unit_client_events import Effect, Event
from backend.protocols.client.units_in_hand import UnitStage
from tests.contract.vectors import write

FILE = Path(__file__).parents[1] / "worker.json"


class Step(msgspec.Struct, frozen=True):
    """One event, what the machine asked for, and how it stood afterwards."""

    event: Event
    effects: list[Effect]
    phase: UnitClientPhase
    held: list[tuple[int, UnitStage]]
    waiting: list[int]
    counted: int
    blended: int
    rejected: int
    examples: int
    idle: str | None
    reason: str | None


class Conversation(msgspec.Struct, frozen=True):
    """A story from the first event on a new machine."""

    name: str
    steps: list[Step]


Json = dict[str, Any]

BUNDLE, OTHER_BUNDLE, WEIGHTS = "b" * 64, "c" * 64, "a" * 64
SIZE = 600_000
ENLIST = {
    "type": "enlist",
    "token": "a-token-of-forty-three-characters-base64url",
    "kind": "browser",
    "backend": "auto",
    "agent": "vectors",
    "shards": ["d" * 64],
}
START: Json = {"type": "start", "enlist": ENLIST, "slots": 2, "at_once": 1}
TWO_AT_ONCE: Json = {**START, "slots": 3, "at_once": 2}
CONNECTED: Json = {"type": "connected"}
LOADED: Json = {"type": "loaded", "backend": "wasm", "step_ms": 12.5}
STOP: Json = {"type": "stop"}


def frame(tag: str, **fields: object) -> Json:
    return {"type": "frame", "frame": {"type": tag, **fields}}


def enlisted(bundle: str = BUNDLE) -> Json:
    return frame("enlisted", task="digits", client="0123456789abcdef", bundle=bundle, chunk_bytes=262_144)


def unit(lease: int, number: int | None = None, seconds: float = 600.0) -> Json:
    """A lease of the unit `number`, by default of the one with its own number."""
    number = lease if number is None else number
    return frame(
        "unit",
        lease=lease,
        unit=number,
        epoch=1,
        shard={"sha256": f"{number:064x}", "examples": 64},
        first=0,
        examples=64,
        base=3,
        weights=WEIGHTS,
        epochs=1,
        steps=0,
        batch_size=32,
        learning_rate=0.0625,
        past_steps=0,
        seed=7,
        proximal_mu=0.0,
        start="given",
        elasticity=0.0,
        seconds=seconds,
        heartbeat=30.0,
    )


def fetched(lease: int) -> Json:
    return {"type": "fetched", "lease": lease}


def trained(lease: int, examples: int = 64, steps: int = 2) -> Json:
    report = {"size": SIZE, "examples": examples, "steps": steps, "loss": 1.25, "sums": [[32.0, 64.0]]}
    return {"type": "trained", "lease": lease, **report}


def committed(lease: int) -> Json:
    return {**trained(lease), "commitment": "c0" * 32, "salt": "5a" * 32}


def opened(lease: int) -> Json:
    return frame("open", lease=lease)


def failed(lease: int, cause: str) -> Json:
    return {"type": "failed", "lease": lease, "cause": cause}


def pulse(lease: int, steps: int = 1) -> Json:
    return {"type": "pulse", "lease": lease, "steps": steps}


def want(slots: int, at_once: int = 1, offline: int = 0) -> Json:
    return {"type": "want", "slots": slots, "at_once": at_once, "offline": offline}


def give_back(cause: str) -> Json:
    return {"type": "give_back", "cause": cause}


def wind_down(cause: str) -> Json:
    return {"type": "wind_down", "cause": cause}


def credit(lease: int, until: int) -> Json:
    return frame("credit", round=lease, until=until)


def taken(lease: int, *, waits: bool = False) -> Json:
    return frame("taken", lease=lease, waits=waits)


def counted(lease: int, *, blended: bool = True) -> Json:
    return frame("counted", lease=lease, examples=64, blended=blended)


def rejected(lease: int, code: str = "invalid") -> Json:
    return frame("rejected", lease=lease, code=code, reason="It is unlike what others made of this unit.")


def drop(lease: int) -> Json:
    return frame("drop", lease=lease, reason="Another result of this unit was enough.")


def renewed(lease: int) -> Json:
    return frame("renewed", lease=lease, seconds=90.5)


def idle(cause: str) -> Json:
    return frame("idle", cause=cause)


def standing() -> Json:
    return frame("standing", credited=64, units=1, checked=1, trusted=False, quota=99)


def board(phase: str) -> Json:
    tally = {"units": 4, "done": 1, "leased": 2, "compared": 0}
    counts = {"epoch": 1, "epochs": 2, "base": 1, "backlog": 0, "browsers": 1, "peers": 1, "measured": 1}
    return frame("board", phase=phase, tally=tally, **counts, loss=0.5, metrics={"accuracy": 0.75})


def closing(code: str) -> Json:
    return frame("closing", code=code, reason=f"The server closes this connection: {code}.")


def lost(random: float) -> Json:
    return {"type": "disconnected", "random": random}


READY = [START, CONNECTED, enlisted(), LOADED]
AGAIN = [CONNECTED, enlisted()]
TRAINING = [*READY, unit(1), fetched(1)]
BOTH = [*TRAINING, unit(2), fetched(2)]
SENDING = [*BOTH, trained(1)]

STORIES: dict[str, list[Json]] = {
    "one unit after the other, the next fetched while one is trained": [
        *READY, board("waiting"), unit(1), unit(2), fetched(1), fetched(2), pulse(1), pulse(2, 0), renewed(1),
        renewed(2), trained(1), credit(1, 262_144), credit(1, SIZE), taken(1), unit(3), counted(1),
        standing(), fetched(3), trained(2), credit(2, SIZE), taken(2), counted(2), board("training"),
    ],
    "two are trained at once, in the order in which they came": [
        TWO_AT_ONCE, *READY[1:], unit(1), unit(2), unit(3), fetched(3), fetched(2), fetched(1), trained(2),
        want(3, 3), trained(1), trained(3),
    ],
    "a result that waits is compared, and holds": [*SENDING, taken(1, waits=True), counted(1, blended=False)],
    "a result that waits is compared, and is invalid": [*SENDING, taken(1, waits=True), rejected(1)],
    "a result of the wrong length is rejected before all of it was sent": [
        *SENDING, credit(1, 262_144), rejected(1, "wrong-length"), credit(1, SIZE), pulse(1),
    ],
    "a result with a commitment: its vector, then its salt": [
        *BOTH, committed(1), credit(1, SIZE), opened(1), taken(1),
    ],
    "a replica sends its salt alone where it equals another": [
        *BOTH, committed(1), opened(1), taken(1, waits=True), counted(1, blended=False),
    ],
    "a replica that differs sends its vector after its salt": [
        *BOTH, committed(1), opened(1), credit(1, SIZE), taken(1, waits=True), rejected(1),
    ],
    "no salt without a commitment, before the result, or after it is taken": [
        *SENDING, opened(1), opened(2), opened(9), taken(1), opened(1),
    ],
    "a commitment is told again after a reconnection": [
        *BOTH, committed(1), lost(0.5), opened(1), *AGAIN, opened(1), taken(1),
    ],
    "a rejected lease makes room for the next": [*BOTH, rejected(1, "stale")],
    "the word that a result is here comes once more, or never": [
        *SENDING, taken(1), taken(1), trained(2), counted(2),
    ],
    "credit beyond the end sends what there is, once": [
        *SENDING, credit(1, 10_000_000), credit(1, 10_000_000), credit(2, SIZE), credit(9, SIZE),
    ],
    "a unit that nobody needs is dropped, and the next is trained": [
        *BOTH, pulse(1), drop(1), trained(1), drop(9),
    ],
    "what is fetched for a dropped unit is forgotten": [*TRAINING, unit(2), drop(2), fetched(2)],
    "a result is sent all the same where its unit was dropped": [
        *SENDING, drop(1), credit(1, SIZE), taken(1), counted(1, blended=False),
    ],
    "the connection breaks while training, and work goes on": [
        *BOTH, lost(0.5), pulse(1), *AGAIN, unit(1, seconds=300.0), unit(2), pulse(1), trained(1),
        credit(1, SIZE), taken(1),
    ],
    "training ends while the connection is broken, the result is said after the wish": [
        *BOTH, lost(0.25), trained(1), lost(0.75), *AGAIN, credit(1, SIZE), taken(1),
    ],
    "the connection breaks while sending, the result starts again from its first byte": [
        *SENDING, credit(1, 262_144), lost(0.0), credit(1, SIZE), *AGAIN, unit(2), credit(1, 262_144),
        credit(1, SIZE), taken(1), counted(1),
    ],
    "what was fetched is said to be there after a reconnection": [
        *TRAINING, lost(0.5), CONNECTED, enlisted(), lost(0.5), CONNECTED,
    ],
    "a lease with other work takes the place of the one before": [*BOTH, unit(1, 5), fetched(1)],
    "shards that are not to be had give the lease back": [
        *READY, unit(1), failed(1, "data"), unit(2), fetched(2), failed(2, "memory"), failed(2, "memory"),
    ],
    "a place is free for the next where training failed": [*BOTH, failed(1, "failed"), trained(2)],
    "a pause gives back what has no result, and units that come late": [
        *SENDING, unit(3), want(0), give_back("paused"), unit(4), taken(1), want(2), unit(5),
    ],
    "a pause while the connection is lost": [
        *BOTH, lost(0.5), want(0), give_back("paused"), *AGAIN, unit(1), unit(2),
    ],
    "a buffer for an hour is trained offline, and its results are sent together": [
        *BOTH, want(4, offline=3600), unit(3), fetched(3), unit(4), fetched(4), lost(0.5), trained(1),
        trained(2), trained(3), *AGAIN, unit(4), credit(1, SIZE), credit(2, SIZE), credit(3, SIZE), taken(1),
        taken(2), taken(3), trained(4), wind_down("preempted"),
    ],
    "no slots any more: what is held is done": [*BOTH, want(0), trained(1), taken(1), trained(2), taken(2)],
    "a preempted machine sends what was done and gives back the rest": [
        *SENDING, fetched(3), unit(3), wind_down("preempted"), trained(2, 32, 1), credit(1, SIZE), taken(1),
        credit(2, SIZE), taken(2), STOP,
    ],
    "a preempted machine without a whole step gives all back": [
        *BOTH, wind_down("preempted"), failed(1, "preempted"), STOP,
    ],
    "stop gives back what has no result and leaves": [*SENDING, STOP, taken(1), fetched(2), STOP],
    "stop while the connection is lost": [*BOTH, lost(0.5), STOP, lost(0.5)],
    "another bundle ends all work": [*SENDING, lost(0.5), CONNECTED, enlisted(OTHER_BUNDLE), LOADED],
    "units of an earlier session are asked for before others": [
        *READY[:3], {**LOADED, "checkpointed": [7, 4]}, unit(7, 3), drop(4), fetched(7), unit(9),
    ],
    "others are wanted when all units of an earlier session are over": [
        *READY[:3], {**LOADED, "checkpointed": [7, 4]}, unit(7, 3), failed(7, "failed"), drop(4), unit(9),
    ],
    "a lost connection ends the wait for units of an earlier session": [
        *READY[:3], {**LOADED, "checkpointed": [7]}, lost(0.5), *AGAIN, drop(7),
    ],
    "units before the bundle is loaded are not taken": [*READY[:3], unit(1), idle("nothing"), LOADED],
    "the connection breaks while loading": [*READY[:3], lost(0.5), LOADED, CONNECTED, enlisted()],
    "why there is nothing to do is known until there is": [
        *READY, idle("quota"), idle("nothing"), unit(1), idle("over"), lost(0.5), *AGAIN,
    ],
    "a finished task ends all work": [*SENDING, board("finished"), fetched(2), board("training"), unit(3)],
    "a replaced client does not come back": [*SENDING, closing("replaced"), lost(0.5), START],
    "who is sent away comes back later": [
        *READY, closing("busy"), lost(0.5), *AGAIN, closing("idle"), lost(0.5),
    ],
    "a server that cannot say hello": [START, CONNECTED, closing("not-found"), lost(0.5)],
    "events out of place change nothing": [
        CONNECTED, LOADED, enlisted(), trained(1), lost(0.5), fetched(1), failed(1, "failed"), pulse(1),
        START, START, enlisted(), unit(1), CONNECTED, CONNECTED, enlisted(), enlisted(), LOADED, LOADED,
        trained(1), unit(1), trained(1), fetched(1), fetched(1), unit(1), trained(1), trained(1), taken(2),
        credit(2, 5),
    ],
}  # fmt: skip


def conversations() -> list[Conversation]:
    """Every story, replayed on a new machine."""
    return [Conversation(name, _replay(events)) for name, events in STORIES.items()]


def standing_of(machine: UnitClientMachine) -> dict[str, Any]:
    """What a step says of the machine."""
    return {
        "phase": machine.phase,
        "held": [(lease, one.stage) for lease, one in machine.held.items()],
        "waiting": sorted(machine.waiting),
        "counted": machine.counted,
        "blended": machine.blended,
        "rejected": machine.rejected,
        "examples": machine.examples,
        "idle": machine.idle,
        "reason": machine.reason,
    }


def _replay(events: list[Json]) -> list[Step]:
    machine = UnitClientMachine()
    steps = []
    for raw in events:
        event: Event = msgspec.convert(raw, Event)
        effects = machine.handle(event)
        steps.append(Step(event, effects, **standing_of(machine)))
    return steps


def text() -> str:
    """The file's content: one step a line, so that differences are readable."""
    stories = []
    for story in conversations():
        steps = ",\n    ".join(msgspec.json.encode(step).decode() for step in story.steps)
        name = msgspec.json.encode(story.name).decode()
        stories.append(f'  {{"name": {name}, "steps": [\n    {steps}\n  ]}}')
    return "[\n" + ",\n".join(stories) + "\n]\n"


def files() -> dict[str, str]:
    """The content of each file."""
    return {FILE.name: text()}


if __name__ == "__main__":
    write(files())
