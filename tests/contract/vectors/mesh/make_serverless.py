"""Writes onward.json: conversations about rounds without the server, that both languages replay.

Run `python -m tests.contract.vectors.mesh.make_serverless` after a change of the machine, and read the
difference. Bytes are in base64. In stories of `steward` false this peer is a browser, which follows but does
not lead.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from backend.protocols.mesh.serverless.rounds import ServerlessRounds
from backend.protocols.mesh.serverless.serverless_events import Effect, Event, ServerlessStage
from tests.contract.vectors import write
from tests.contract.vectors.client.make_participant import evaluate, state
from tests.contract.vectors.mesh.make_mesh_member import (
    ONE,
    OTHER,
    OTHER_RUN,
    RUN,
    SECOND,
    THREE,
    TWO,
    Json,
    certificate,
    group,
    train,
)

FILE = Path(__file__).parents[1] / "onward.json"
SALT = 41
STRANGER = "9" * 16


class Step(msgspec.Struct, frozen=True):
    """One event at a time, what the machine asked for, how it stood, and when it wants to be called."""

    now: float
    event: Event
    effects: list[Effect]
    stage: ServerlessStage
    timer: float | None


class Conversation(msgspec.Struct, frozen=True):
    """A story of the peer `own`, from the first event on a new machine."""

    name: str
    own: str
    steward: bool
    steps: list[Step]


Timed = tuple[float, Json]

REACHED: Json = {"type": "reached", "run": RUN}
REACHED_ANEW: Json = {"type": "reached", "run": OTHER_RUN}
TIME: Json = {"type": "time_passed"}
FAILED: Json = {"type": "failed"}


def told(said: Json) -> Json:
    return {"type": "told", "frame": said["frame"]}


def heard(client: str, tag: str, **fields: object) -> Json:
    return {"type": "heard", "client": client, "frame": {"type": tag, **fields}}


def linked(client: str) -> Json:
    return {"type": "linked", "client": client}


def gone(client: str) -> Json:
    return {"type": "lost", "client": client}


def deserted(busy: bool = False) -> Json:
    return {"type": "deserted", "busy": busy}


def unattended(
    client: str, number: int = 1, weights: str = SECOND, steward: bool = True, measures: bool = False
) -> Json:
    return heard(client, "unattended", round=number, weights=weights, steward=steward, measures=measures)


def set_out(client: str, number: int = 2, weights: str = SECOND, measures: str | None = None) -> Json:
    return heard(client, "set_out", round=number, weights=weights, measures=measures)


def report(number: int = 2, base: str = SECOND) -> Json:
    sums = [[32.0, 64.0]]
    about = {"round": number, "base": base, "examples": 64, "steps": 2, "loss": 1.25, "sums": sums}
    return {"type": "trained", **about}


def trained(number: int = 2, base: str = SECOND) -> Json:
    return {"type": "trained", "report": report(number, base)}


def trained_by(client: str, number: int = 2, base: str = SECOND) -> Json:
    return {"type": "heard", "client": client, "frame": report(number, base)}


def averaged(number: int = 1, weights: str = SECOND, place: int = 0) -> Json:
    return {"type": "averaged", "order": group(number, place)["frame"], "weights": weights}


def certified(number: int = 1, weights: str = SECOND) -> Json:
    shown = certificate(number, weights)
    return {"type": "certified", "certificate": shown}


def order(client: str, number: int = 2, **changes: object) -> Json:
    members = [ONE, TWO, THREE]
    right: Json = {**group(number, (1 << 40) + 7)["frame"], "members": members, **changes}
    return {"type": "heard", "client": client, "frame": right}


def measured(number: int) -> Json:
    found = {"round": number, "version": 1, "examples": 40, "loss": 0.75, "sums": [[31.5, 40.0]]}
    return {"type": "measured", "report": {"type": "evaluation", **found}}


def at(now: float, *events: Json) -> list[Timed]:
    return [(now, event) for event in events]


EXAM = evaluate(1, 1)
# The first round, with the server; then that is gone, and the patience (5 seconds) over.
BEGUN = at(0.0, REACHED, linked(TWO), linked(THREE), told(train(1)), averaged(), certified())
DESERTED = [*BEGUN, *at(10.0, deserted())]
CALLING = [*DESERTED, *at(15.0, TIME)]
FOLLOWING = [*CALLING, *at(15.5, set_out(TWO))]
TRAINED = [*FOLLOWING, *at(16.0, trained())]
AVERAGING = [*TRAINED, *at(17.0, order(TWO))]
LEADING = [*CALLING, *at(15.5, unattended(TWO), unattended(THREE))]

FOLLOWERS: dict[str, list[Timed]] = {
    "two rounds behind a steward": [
        *AVERAGING, *at(18.0, averaged(2, OTHER)), *at(18.5, certified(2, OTHER), set_out(TWO, 3, OTHER)),
        *at(19.0, trained(3, OTHER), order(TWO, 3)),
    ],
    "the server is back in time": [*DESERTED, *at(12.0, REACHED), *at(15.0, TIME)],
    "the server is back while this peer trains": [*FOLLOWING, *at(16.0, REACHED, trained(), order(TWO))],
    "the server is back while its group averages": [*AVERAGING, *at(18.0, REACHED, averaged(2, OTHER))],
    "what another run of the task certified is no beginning": [
        *at(0.0, REACHED, linked(TWO), told(train(1)), averaged(), certified()),
        *at(1.0, REACHED_ANEW, certified(), deserted()), *at(6.0, TIME),
    ],
    "who has the server says so to who calls": at(1.0, *[e for _, e in BEGUN], unattended(TWO)),
    "another has the server: it is tried at once, but not every time": [
        *CALLING, *at(15.5, heard(TWO, "attended"), heard(THREE, "attended"), set_out(TWO)),
        *at(20.5, TIME), *at(21.0, heard(TWO, "attended")),
    ],
    "a training is given up when another has the server": [
        *FOLLOWING, *at(16.0, heard(THREE, "attended"), trained(), order(TWO)), *at(21.0, TIME),
    ],
    "a group that averages is not": [*AVERAGING, *at(17.5, heard(THREE, "attended"))],
    "who trains when the server goes calls when that is done": [
        *BEGUN, *at(5.0, told(train(2, SECOND))), *at(10.0, deserted(busy=True)), *at(15.0, TIME),
        *at(18.0, trained(2)), *at(20.0, TIME), *at(20.5, set_out(TWO, 3)),
    ],
    "a group that ends without the server waits for the patience": [
        *at(0.0, REACHED, linked(TWO), linked(THREE), told(train(1))), *at(10.0, deserted(busy=True)),
        *at(11.0, averaged(), certified()), *at(16.0, TIME),
    ],
    "who holds nothing certified does not call": [
        *at(0.0, REACHED, linked(TWO), told(train(1)), averaged()), *at(1.0, deserted()), *at(6.0, TIME),
    ],
    "who never averaged does nothing": at(0.0, REACHED, linked(TWO), told(train(1)), deserted(), TIME),
    "a newcomer is called as soon as there is a link": [
        *at(0.0, REACHED, linked(TWO), told(train(1)), averaged(), certified()), *at(1.0, deserted()),
        *at(6.0, TIME), *at(7.0, linked(THREE), linked(STRANGER)),
    ],
    "a finished task is finished": [*BEGUN, *at(1.0, told(state("finished", 1)), deserted()), *at(6.0, TIME)],
    "a task that its owner paused does not go on": [
        *BEGUN, *at(1.0, told(state("paused", 1)), deserted()), *at(6.0, TIME),
    ],
    "a stranger leads nobody": [*CALLING, *at(15.5, set_out(STRANGER), unattended(STRANGER))],
    "other weights, and rounds that are known already, are not set out for": [
        *CALLING, *at(15.5, set_out(TWO, 2, OTHER), set_out(TWO, 1)),
    ],
    "a round far beyond all that it heard of is not set out for": [
        *CALLING, *at(15.5, set_out(TWO, 2**53 - 1), set_out(TWO, 2 + 2**20), set_out(TWO, 1 + 2**20)),
    ],
    "one leads at a time": [*FOLLOWING, *at(15.6, set_out(THREE, 3)), *at(16.0, trained(), order(THREE))],
    "an order that does not follow from the last one is passed over": [
        *TRAINED, *at(17.0,
            order(TWO, group=1), order(TWO, least=3), order(TWO, members=[TWO, THREE]),
            order(TWO, members=[ONE, TWO, STRANGER]), order(TWO, members=[ONE, ONE, TWO]),
            order(TWO, patience=0.5), order(TWO, precision="float32"), order(TWO, most_weight=1e9),
            order(TWO, 3), order(TWO, members=[ONE, TWO]),
        ),
    ],
    "the steward is lost": [*TRAINED, *at(17.0, gone(TWO), order(TWO)), *at(22.0, TIME)],
    "the steward says nothing for as long as a round may take": [
        *TRAINED, *at(100.6, TIME), *at(105.6, TIME),
    ],
    "a group without a result, and another attempt": [
        *AVERAGING, *at(18.0, FAILED), *at(23.0, TIME), *at(23.5, set_out(TWO, 3)), *at(23.6, trained(3)),
    ],
    "one by lot measures before it trains": [
        *at(0.0, told(EXAM)), *CALLING, *at(15.5, set_out(TWO, 2, SECOND, ONE)), *at(16.0, measured(2)),
        *at(17.0, trained(), order(TWO)),
    ],
    "another measures": [
        *at(0.0, told(EXAM)), *CALLING, *at(15.5, set_out(TWO, 2, SECOND, THREE)),
        *at(16.0, {"type": "heard", "client": THREE, "frame": measured(1)["report"]}),
        *at(17.0, gone(TWO)), *at(22.0, TIME),
    ],
    "a measurement that takes too long is left alone": [
        *at(0.0, told(EXAM)), *CALLING, *at(15.5, set_out(TWO, 2, SECOND, ONE)), *at(30.5, TIME, measured(2)),
    ],
    "events out of place change nothing": at(
        0.0, TIME, FAILED, trained(), measured(1), set_out(TWO), order(TWO), gone(TWO), deserted(),
        deserted(), REACHED, TIME, heard(TWO, "attended"),
    ),
}  # fmt: skip
STEWARDS: dict[str, list[Timed]] = {
    "all call: the lowest sets out at once": [
        *LEADING, *at(16.0, trained_by(THREE), trained()), *at(17.0, trained_by(TWO)),
        *at(18.0, averaged(2, OTHER)), *at(18.5, unattended(TWO, 2, OTHER), certified(2, OTHER)),
        *at(18.6, unattended(THREE, 2, OTHER)),
    ],
    "most call: the others are waited for": [
        *CALLING, *at(15.5, unattended(TWO)), *at(20.0, TIME), *at(21.0, trained(), trained_by(TWO)),
    ],
    "too few call": [*CALLING, *at(20.0, TIME), *at(25.0, TIME)],
    "calls of other weights do not count": [*CALLING, *at(15.5, unattended(TWO, 3, OTHER)), *at(20.0, TIME)],
    "who hears of a newer round sets out for the next": [
        *CALLING, *at(15.5, unattended(TWO, 4), unattended(THREE, 3)),
    ],
    "who says that it heard of a round far beyond is not counted": [
        *CALLING, *at(15.5, unattended(TWO, 2**53 - 1), unattended(THREE)), *at(20.0, TIME),
    ],
    "who has not trained in time is left out": [
        *LEADING, *at(16.0, trained(), trained_by(TWO)), *at(90.5, TIME),
    ],
    "too few train in time": [*LEADING, *at(16.0, trained_by(TWO)), *at(90.5, TIME), *at(95.5, TIME)],
    "a member that is lost is not waited for": [
        *LEADING, *at(16.0, trained(), trained_by(TWO)), *at(17.0, gone(THREE)),
    ],
    "what is trained from other weights, for another round or by others does not count": [
        *LEADING, *at(16.0, trained(), trained_by(TWO, 3), trained_by(TWO, 2, OTHER), trained_by(STRANGER)),
    ],
    "one who can is asked to measure": [
        *CALLING, *at(15.5, unattended(TWO, measures=True), unattended(THREE, measures=True)),
    ],
    "the steward itself measures": [
        *at(0.0, told(EXAM)), *CALLING, *at(15.5, unattended(TWO), unattended(THREE)), *at(16.0, measured(2)),
    ],
    "a browser does not lead, and is led by the next one": [
        *CALLING, *at(15.5, unattended(TWO, steward=False), unattended(THREE, steward=False)),
    ],
}  # fmt: skip
# Here the lower ids are those of others.
SECONDS: dict[str, list[Timed]] = {
    "a steward that does nothing makes way": [
        *at(0.0, REACHED, linked(ONE), linked(THREE), told(train(1)), averaged(), certified()),
        *at(10.0, deserted()), *at(15.0, TIME, unattended(ONE), unattended(THREE)), *at(20.0, TIME),
        *at(25.0, TIME),
    ],
}  # fmt: skip


def conversations() -> list[Conversation]:
    """Every story, replayed on a new machine."""
    return [
        *(Conversation(name, ONE, False, _replay(ONE, False, story)) for name, story in FOLLOWERS.items()),
        *(Conversation(name, ONE, True, _replay(ONE, True, story)) for name, story in STEWARDS.items()),
        *(Conversation(name, TWO, True, _replay(TWO, True, story)) for name, story in SECONDS.items()),
    ]


def _replay(own: str, steward: bool, story: list[Timed]) -> list[Step]:
    machine = ServerlessRounds(own, steward, SALT)
    steps = []
    for now, raw in story:
        event: Event = msgspec.convert(raw, Event, builtin_types=())
        effects = machine.happened(event, now)
        steps.append(Step(now, event, effects, machine.stage, machine.timer()))
    return steps


def text() -> str:
    """The file's content: one step a line, so that differences are readable."""
    stories = []
    for story in conversations():
        steps = ",\n    ".join(msgspec.json.encode(step).decode() for step in story.steps)
        about = msgspec.json.encode({"name": story.name, "own": story.own, "steward": story.steward})
        stories.append(f'  {about.decode()[:-1]}, "steps": [\n    {steps}\n  ]}}')
    return "[\n" + ",\n".join(stories) + "\n]\n"


def files() -> dict[str, str]:
    """The content of each file."""
    return {FILE.name: text()}


if __name__ == "__main__":
    write(files())
