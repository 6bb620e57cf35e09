"""Writes mesh_member.json: conversations that the Python and the TypeScript member of a mesh replay.

Run `python -m tests.contract.vectors.mesh.make_mesh_member` after a change of the machine, and read the
difference. Bytes are in base64.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from backend.protocols.mesh.member import MeshMember, MeshPhase
from backend.protocols.mesh.member_events import Effect, Event
from tests.contract.vectors import write
from tests.contract.vectors.client.make_participant import (
    CONNECTED,
    LOADED,
    STOP,
    abandoned,
    closing,
    evaluate,
    evaluated,
    frame,
    lost,
    measured,
    state,
    version,
)
from tests.contract.vectors.client.make_participant import train as federated_train

FILE = Path(__file__).parents[1] / "mesh_member.json"

Json = dict[str, Any]


class Step(msgspec.Struct, frozen=True):
    """One event, what the machine asked for, and how it stood afterwards."""

    event: Event
    effects: list[Effect]
    phase: MeshPhase
    holds: str | None
    averaged: int
    failed: int
    reason: str | None


class Conversation(msgspec.Struct, frozen=True):
    """A story from the first event on a new machine."""

    name: str
    steps: list[Step]


ONE, TWO, THREE = "0123456789abcdef", "1123456789abcdef", "2123456789abcdef"
BUNDLE, OTHER_BUNDLE = "b" * 64, "c" * 64
RUN, OTHER_RUN = "e" * 64, "f" * 64
FIRST, SECOND, OTHER = "a" * 64, "d" * 64, "e" * 64
# 32 and 64 bytes in base64.
KEY, SIGNATURE = "A" * 43 + "=", "A" * 86 + "=="
ENTER: Json = {
    "type": "enter",
    "token": "a-token-of-forty-three-characters-base64url",
    "kind": "browser",
    "backend": "auto",
    "agent": "vectors",
    "identity": KEY,
    "ways": ["webrtc", "relay"],
    "address": None,
    "round": 0,
    "holds": None,
    "certificate": None,
    "chain": [],
}
START: Json = {"type": "start", "enter": ENTER}


def certificate(number: int, weights: str, bundle: str = BUNDLE, place: int = 0, run: str = RUN) -> Json:
    signatures = [{"client": one, "identity": KEY, "signature": SIGNATURE} for one in (ONE, TWO)]
    of = {"bundle": bundle, "run": run, "round": number, "group": place, "weights": weights}
    return {**of, "survivors": [ONE, TWO, THREE], "signatures": signatures}


def back(number: int, weights: str, shown: Json | None) -> Json:
    enter = {**ENTER, "round": number, "holds": weights, "certificate": shown}
    return {"type": "start", "enter": enter}


def entered(bundle: str = BUNDLE, number: int = 0, run: str = RUN) -> Json:
    outer = {"kind": "fedavg", "learning_rate": 1.0, "momentum": 0.0}
    about = {"task": "digits", "client": ONE, "version": number, "weights": FIRST, "outer": outer, "ice": []}
    return frame("entered", bundle=bundle, run=run, round=number, **about)


def train(number: int, weights: str = FIRST, seed: int = 7) -> Json:
    plan = federated_train(number, number - 1, seed)
    return {**plan, "frame": {**plan["frame"], "weights": weights}}


def trained(number: int, examples: int = 64, steps: int = 2) -> Json:
    report = {"examples": examples, "steps": steps, "loss": 1.25, "sums": [[32.0, 64.0]]}
    return {"type": "trained", "round": number, **report}


def group(number: int, place: int = 0, members: tuple[str, ...] = (ONE, TWO, THREE)) -> Json:
    about = {"exchange": "butterfly", "precision": "float16", "subject": "changes", "reducer": "mean"}
    limits = {"least": 2, "most_weight": 1e6, "patience": 5.0, "seconds": 60.0, "quorum": 2}
    bounds = [0, 10, 20, 30]
    return frame("group", round=number, group=place, members=list(members), bounds=bounds, **about, **limits)


def averaged(number: int, weights: str = SECOND, place: int = 0) -> Json:
    result = {"survivors": [0, 1, 2], "fraction": 1.0, "seconds": 0.5, "signature": SIGNATURE}
    return {"type": "averaged", "round": number, "group": place, "weights": weights, **result}


def failed(number: int, place: int = 0) -> Json:
    reason = "One of at least two members is left."
    return {"type": "failed", "round": number, "group": place, "reason": reason}


def certified(number: int, weights: str, place: int = 0) -> Json:
    return {"type": "certified", "certificate": certificate(number, weights, place=place)}


def agreed(said: Json) -> Json:
    return {"type": "agreed", "frame": said["frame"]}


def deposit(number: int, weights: str) -> Json:
    return frame("deposit", round=number, weights=weights)


READY = [START, CONNECTED, entered(), LOADED]
TRAINING = [*READY, train(1)]
TRAINED = [*TRAINING, trained(1)]
AVERAGING = [*TRAINED, group(1)]
AVERAGED = [*AVERAGING, averaged(1)]
AGAIN = [lost(0.5), CONNECTED, entered()]
# A group that peers formed without the server, after a certified one of the server.
LED = 1 << 40
BY_PEERS = [
    *AVERAGED, certified(1, SECOND), lost(0.5), agreed(train(2, SECOND)), trained(2), agreed(group(2, LED)),
    averaged(2, OTHER, LED),
]  # fmt: skip

STORIES: dict[str, list[Json]] = {
    "two rounds": [
        *AVERAGED, certified(1, SECOND), version(1, 1), deposit(1, SECOND), evaluated(1), train(2, SECOND),
        trained(2), group(2), averaged(2, OTHER), version(2, 2),
    ],
    "a group without a result, and the next round from the same weights": [
        *AVERAGING, failed(1), abandoned(1), train(2), trained(2), group(2), averaged(2), version(1, 2),
    ],
    "the server goes away while training, and what was trained is said again": [
        *TRAINING, lost(0.5), trained(1), CONNECTED, entered(), group(1), averaged(1),
    ],
    "the server goes away before the group's order": [*TRAINED, *AGAIN, group(1), averaged(1), version(1, 1)],
    "a group goes on without the server, and is reported when that is back": [
        *AVERAGING, lost(0.5), averaged(1), CONNECTED, entered(), version(1, 1), train(2, SECOND),
    ],
    "a server that is back before the group has ended hears nothing until then": [
        *AVERAGING, *AGAIN, averaged(1), version(1, 1), train(2, SECOND),
    ],
    "a group fails while the server is away": [*AVERAGING, lost(0.5), failed(1), CONNECTED, entered()],
    "a report is repeated until its round is over": [*AVERAGED, *AGAIN, version(1, 1), *AGAIN],
    "certified weights are shown when the connection is made again": [
        *AVERAGED, certified(1, SECOND), version(1, 1), *AGAIN,
    ],
    "a certificate of other weights than those held is of no use": [*AVERAGED, certified(1, OTHER), *AGAIN],
    "an order for a group counts once": [*AVERAGING, group(1), group(1, 1), averaged(1), group(1)],
    "an order for a group that this peer is not in, or of another round, changes nothing": [
        *TRAINED, group(1, members=(TWO, THREE)), group(2), group(1),
    ],
    "an order before the training is done changes nothing": [*TRAINING, group(1), trained(1), group(1)],
    "results of another group change nothing": [*AVERAGING, averaged(2), averaged(1, place=1), failed(2)],
    "a round that is over while a peer trains ends its training": [*TRAINING, version(1, 1), trained(1)],
    "left out of all groups": [*TRAINED, version(1, 1), group(1), train(2, SECOND), trained(2), group(2)],
    "a group outlives its round": [*AVERAGING, version(1, 1), averaged(1), train(2, SECOND)],
    "a group outlives its round, and has no result": [*AVERAGING, abandoned(1), failed(1), train(2, SECOND)],
    "a newer plan ends a group": [*AVERAGING, train(2, SECOND), averaged(1), trained(2)],
    "a plan that is repeated does not start the training again": [
        *TRAINING, *AGAIN, train(1), trained(1), train(1), group(1),
    ],
    "what was trained is said again when a restarted server opens the round": [
        *TRAINING, lost(0.5), trained(1), CONNECTED, entered(), train(1), group(1), train(1), averaged(1),
        train(1),
    ],
    "a new plan of the same round replaces the older one": [*TRAINING, train(1, seed=8), trained(1)],
    "a newcomer can hand on what it fetched for its first plan": [
        *READY, train(4, OTHER), trained(4), *AGAIN, group(4), averaged(4),
    ],
    "a peer comes back with certified weights": [
        back(3, SECOND, certificate(3, SECOND)), CONNECTED, entered(), LOADED, train(4, SECOND), trained(4),
    ],
    "weights of another bundle are forgotten": [
        back(3, SECOND, certificate(3, SECOND, OTHER_BUNDLE)), CONNECTED, entered(), LOADED, *AGAIN,
    ],
    "weights of another run are forgotten": [
        back(3, SECOND, certificate(3, SECOND, run=OTHER_RUN)), CONNECTED, entered(), LOADED, *AGAIN,
    ],
    "a task that begins anew is entered anew, and the work on the old one forgotten": [
        *AVERAGING, lost(0.5), CONNECTED, entered(run=OTHER_RUN), averaged(1), LOADED,
    ],
    "another bundle is loaded and the work on the old one forgotten": [
        *AVERAGING, lost(0.5), CONNECTED, entered(OTHER_BUNDLE), averaged(1), LOADED,
    ],
    "the bundle is loaded once": [START, CONNECTED, entered(), *AGAIN, LOADED, LOADED],
    "the server is away for long": [START, *[lost(random) for random in (0.5, 0.0, 0.999, *[0.5] * 9)]],
    "an idle peer measures a version": [
        *AVERAGED, version(1, 1), evaluate(1, 1), measured(1, 1), evaluated(1, "clients"), train(2, SECOND),
    ],
    "who trains or averages does not measure": [*AVERAGING, evaluate(1, 0), averaged(1), evaluate(1, 1)],
    "a plan ends a measurement": [*READY, evaluate(1, 1), train(2), measured(1, 1)],
    "a measurement is answered after a reconnection": [
        *READY, evaluate(1, 1), lost(0.5), measured(1, 1), CONNECTED, entered(), evaluate(1, 1),
    ],
    "stop while averaging": [*AVERAGING, STOP, averaged(1)],
    "stop while training": [*TRAINING, STOP, trained(1)],
    "stop while offline": [*AVERAGING, lost(0.5), STOP, CONNECTED],
    "stop and start again": [*AVERAGED, STOP, back(1, SECOND, None), CONNECTED, entered()],
    "replaced by another peer of this machine": [*AVERAGING, closing("replaced"), lost(0.5), averaged(1)],
    "unfit for the task": [START, CONNECTED, closing("unfit"), lost(0.5)],
    "sent away": [*READY, closing("too-fast"), lost(0.5), CONNECTED, entered(), lost(0.5)],
    "the task is finished": [*AVERAGED, state("finished", 1), *AGAIN, state("finished", 1)],
    "a finished task is continued": [*READY, state("finished", 5), state("waiting", 5), train(6)],
    "news of an older round change nothing": [*READY, train(3), version(2, 2), abandoned(2)],
    "peers agree on a round while the server is away, and it is told of the result": [
        *AVERAGED, certified(1, SECOND), lost(0.5), agreed(train(2, SECOND)), lost(0.5), trained(2),
        agreed(group(2)), averaged(2, OTHER), certified(2, OTHER), CONNECTED, entered(), train(3, OTHER),
    ],
    "a group that peers agreed on outlives the server's return": [
        *AVERAGED, lost(0.5), agreed(train(2, SECOND)), trained(2), agreed(group(2)), CONNECTED, entered(),
        averaged(2, OTHER), train(3, OTHER),
    ],
    "what the peers made from certified weights is shown with the certificate of these": [
        *BY_PEERS, certified(2, OTHER, LED), lost(0.5), CONNECTED, entered(),
    ],
    "a certificate that comes after the server is back is shown to it, once": [
        *BY_PEERS, CONNECTED, entered(), certified(2, OTHER, LED), *AGAIN,
    ],
    "a certificate that comes while the server greets is shown after its answer": [
        *BY_PEERS, CONNECTED, certified(2, OTHER, LED), entered(),
    ],
    "what a group of the server makes is shown without earlier certificates": [
        *BY_PEERS, CONNECTED, entered(), certified(2, OTHER, LED), train(3, OTHER), trained(3), group(3),
        averaged(3), certified(3, SECOND), *AGAIN,
    ],
    "a training that peers agreed on ends when the server is back": [
        *AVERAGED, lost(0.5), agreed(train(2, SECOND)), CONNECTED, entered(), trained(2), train(2, SECOND),
    ],
    "what peers agreed on and trained is nothing to the server": [
        *AVERAGED, lost(0.5), agreed(train(2, SECOND)), trained(2), *AGAIN[1:], group(2), train(2, SECOND),
    ],
    "peers have one measure what they made": [
        *AVERAGED, lost(0.5), agreed(evaluate(2, 1)), measured(2, 1), agreed(train(2, SECOND)), CONNECTED,
        entered(), evaluate(2, 1),
    ],
    "nothing is agreed on beside the server": [*AVERAGED, agreed(train(2, SECOND)), agreed(evaluate(1, 1))],
    "nothing is agreed on before there is a model": [START, lost(0.5), agreed(train(1))],
    "events out of place change nothing": [
        CONNECTED, LOADED, entered(), trained(1), lost(0.5), START, START, entered(), CONNECTED, CONNECTED,
        train(1), group(1), entered(), train(1), LOADED, entered(), trained(2), averaged(1), failed(1),
        certified(1, SECOND), measured(1, 1), trained(1), trained(1),
    ],
}  # fmt: skip


def conversations() -> list[Conversation]:
    """Every story, replayed on a new machine."""
    return [Conversation(name, _replay(events)) for name, events in STORIES.items()]


def _replay(events: list[Json]) -> list[Step]:
    machine = MeshMember()
    steps = []
    for raw in events:
        event: Event = msgspec.convert(raw, Event, builtin_types=())
        effects = machine.handle(event)
        stood = (machine.enter.holds if machine.enter else None, machine.averaged, machine.failed)
        steps.append(Step(event, effects, machine.phase, *stood, machine.reason))
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
