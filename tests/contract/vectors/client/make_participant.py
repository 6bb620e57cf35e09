"""Writes participant.json: conversations that the Python and the TypeScript participant replay.

Run `python -m tests.contract.vectors.client.make_participant` after a change of the machine, and read the
difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from backend.protocols.client.participant import ParticipantMachine, ParticipantPhase
from backend.protocols.client.participant_events import Effect, Event
from tests.contract.vectors import write

FILE = Path(__file__).parents[1] / "participant.json"


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event, what the machine asked for, and how it stood afterwards."""

    event: Event
    effects: list[Effect]
    phase: ParticipantPhase
    accepted: int
    refused: int
    reason: str | None
    checked: int = 0
    probation: int = 0


class Conversation(msgspec.Struct, frozen=True):
    """A story from the first event on a new machine."""

    name: str
    steps: list[Step]


Json = dict[str, Any]

BUNDLE, OTHER_BUNDLE, WEIGHTS, SHARD, CONTROL, RUN = (letter * 64 for letter in "bcadef")
SIZE = 600_000
PRIVACY = {"clip": 0.0, "noise": 0.0, "example_clip": 1.0, "example_noise": 2.0, "microbatch": 1}
HELLO = {
    "type": "hello",
    "token": "a-token-of-forty-three-characters-base64url",
    "kind": "browser",
    "backend": "auto",
    "agent": "vectors",
    "aggregation": ["open"],
    "min_masked": 0,
}
START: Json = {"type": "start", "hello": HELLO, "min_noise": 0.0}
MASKABLE = {**START, "hello": {**HELLO, "aggregation": ["masked", "open"]}}
DEMANDING = {**MASKABLE, "min_noise": 0.5}
MASKING = {
    "bits": 32,
    "clip": 10.0,
    "examples": 64,
    "noise": 0.0,
    "share": 1.0,
    "min_clients": 3,
    "server": "honest",
}
CONNECTED: Json = {"type": "connected"}
LOADED: Json = {"type": "loaded", "backend": "wasm", "step_ms": 12.5, "examples": 0}
MEASURE = {"examples": 64, "loss": 0.75, "sums": [[48.0, 64.0]]}
STOP: Json = {"type": "stop"}


def frame(tag: str, **fields: object) -> Json:
    return {"type": "frame", "frame": {"type": tag, **fields}}


def terms(
    mechanism: str,
    noise: float = 1.0,
    clip: float = 10.0,
    delta: float = 1e-5,
    microbatch: int = 0,
    visits: int = 0,
) -> Json:
    """What a task promises its clients."""
    amounts = {"clip": clip, "noise": noise, "delta": delta, "microbatch": microbatch, "visits": visits}
    return {"mechanism": mechanism, **amounts}


def whole(clip: float = 10.0, noise: float = 1.0) -> Json:
    """Noise on whole updates, as a plan says it."""
    return {"clip": clip, "noise": noise, "example_clip": 0.0, "example_noise": 0.0, "microbatch": 0}


def welcome(
    bundle: str = BUNDLE,
    aggregation: str = "open",
    privacy: Json | None = None,
    clip: float = 10.0,
    min_clients: int = 3,
    server: str = "honest",
    probation: int = 0,
) -> Json:
    about: Json = {"task": "digits", "client": "0123456789abcdef", "run": RUN, "chunk_bytes": 262_144}
    masks = {"clip": clip, "min_clients": min_clients, "server": server}
    masking = masks if aggregation == "masked" else None
    about |= {"privacy": privacy, "probation": probation}
    return frame("welcome", bundle=bundle, aggregation=aggregation, masking=masking, **about)


def train(
    number: int,
    version: int,
    seed: int = 7,
    control: str | None = None,
    privacy: Json | None = None,
    masking: Json | None = None,
    epochs: int = 1,
    steps: int = 0,
    *,
    own: bool = False,
) -> Json:
    shards = [] if own else [{"sha256": SHARD, "examples": 64}]
    plan = {
        "weights": WEIGHTS,
        "epochs": epochs,
        "steps": steps,
        "batch_size": 32,
        "learning_rate": 0.003,
        "past_steps": 0,
        "seed": seed,
        "proximal_mu": 0.0,
        "control": control,
        "masking": masking,
        "privacy": privacy,
        "seconds": 60.0,
    }
    return frame("train", round=number, version=version, shards=shards, **plan)


def trained(number: int, examples: int = 64, steps: int = 2) -> Json:
    report = {"size": SIZE, "examples": examples, "steps": steps, "loss": 1.25, "sums": [[32.0, 64.0]]}
    return {"type": "trained", "round": number, **report}


def evaluate(number: int, version: int, *, own: bool = False) -> Json:
    shards = [] if own else [{"sha256": SHARD, "examples": 64}]
    exam = {"weights": WEIGHTS, "shards": shards, "seconds": 20.0}
    return frame("evaluate", round=number, version=version, **exam)


def measured(number: int, version: int) -> Json:
    return {"type": "measured", "round": number, "version": version, **MEASURE}


def credit(number: int, until: int) -> Json:
    return frame("credit", round=number, until=until)


def accepted(number: int, examples: int = 64, counted: bool = True) -> Json:
    if counted:
        return frame("accepted", round=number, examples=examples, counted=True, reason="", **COUNTS)
    notice = {"reason": WHY, "code": "quarantine", "found": ["distance"], "rounds": 2}
    return frame("accepted", round=number, examples=examples, counted=False, **notice)


def checked(number: int) -> Json:
    return frame("accepted", round=number, examples=0, counted=False, reason="", **COUNTS)


def refused(number: int, code: str = "not-finite") -> Json:
    return frame("refused", round=number, code=code, reason="The update holds NaN; wait for the next round.")


def version(number: int, of_round: int) -> Json:
    counts = {"accepted": 2, "examples": 128, "loss": 1.0, "metrics": {"accuracy": 0.6}}
    return frame("version", version=number, round=of_round, weights=WEIGHTS, **counts)


def evaluated(number: int, source: str = "server") -> Json:
    return frame("evaluated", version=number, source=source, loss=0.9, metrics={"accuracy": 0.7})


def state(phase: str, number: int, version: int = 0) -> Json:
    counts = {"version": version, "needed": 0, "cohort": 0, "reported": 0, "quorum": 1}
    return frame("state", phase=phase, round=number, seconds=None, participants=[], **counts)


def abandoned(number: int) -> Json:
    return frame("abandoned", round=number, reason="Too few updates arrived before the deadline.")


def closing(code: str) -> Json:
    return frame("closing", code=code, reason=f"The server closes this connection: {code}.")


def lost(random: float) -> Json:
    return {"type": "disconnected", "random": random}


READY = [START, CONNECTED, welcome(), LOADED]
MASKED = [MASKABLE, CONNECTED, welcome(aggregation="masked"), LOADED]
MASKED_PRIVATELY = [
    MASKABLE, CONNECTED, welcome(aggregation="masked", privacy=terms("distributed")), LOADED,
]  # fmt: skip
# Four steps visit each of 120 examples once.
VISITED = [
    MASKABLE, CONNECTED, welcome(privacy=terms("examples", 2.0, 1.0, microbatch=1, visits=2)),
    {**LOADED, "examples": 120},
]  # fmt: skip
WHY = "Your updates do not count at present."
COUNTS: Json = {"code": None, "found": [], "rounds": 0}
EVALUATING = [*READY, evaluate(1, 1)]
COUNTED = [*READY, train(1, 0, control=CONTROL), trained(1), accepted(1)]
TRAINING = [*READY, train(1, 0)]
UPLOADING = [*TRAINING, trained(1)]

STORIES: dict[str, list[Json]] = {
    "a normal round": [
        *UPLOADING, credit(1, 262_144), credit(1, 524_288), credit(1, SIZE), accepted(1), version(1, 1),
        evaluated(1), state("waiting", 1), train(2, 1), trained(2), credit(2, SIZE), accepted(2),
    ],
    "credit beyond the end sends what there is, once": [
        *UPLOADING, credit(1, 10_000_000), credit(1, 10_000_000),
    ],
    "a newcomer's first updates are checked, and change no control variate": [
        START, CONNECTED, welcome(probation=2), LOADED, train(1, 0, control=CONTROL), trained(1), checked(1),
        train(2, 0), trained(2), checked(2), train(3, 0, control=CONTROL), trained(3), accepted(3),
        version(1, 3),
    ],
    "a server that comes back says how long the probation still is": [
        START, CONNECTED, welcome(probation=2), LOADED, train(1, 0), trained(1), lost(0.5), CONNECTED,
        welcome(probation=1), checked(1),
    ],
    "late credit, for another round or after the answer, sends nothing": [
        *UPLOADING, credit(2, SIZE), refused(1), credit(1, SIZE),
    ],
    "credit before the update is there sends nothing": [*TRAINING, credit(1, SIZE)],
    "a refused update is counted and the next round goes on": [
        *UPLOADING, credit(1, SIZE), refused(1), train(2, 1), trained(2), credit(2, SIZE), accepted(2),
    ],
    "an update that does not count is none of the counted ones, and the next round goes on": [
        *UPLOADING, credit(1, SIZE), accepted(1, counted=False), train(2, 1), trained(2), accepted(2),
    ],
    "a refusal while training ends the training": [*TRAINING, refused(1, "stale-round"), trained(1)],
    "the connection breaks while training, the update is offered afterwards": [
        *TRAINING, lost(0.5), CONNECTED, welcome(), trained(1), credit(1, SIZE), accepted(1),
    ],
    "training ends while the connection is broken, the update is offered after Ready": [
        *TRAINING, lost(0.25), trained(1), lost(0.75), CONNECTED, welcome(), credit(1, SIZE), accepted(1),
    ],
    "the connection breaks while uploading, the update starts again from its first byte": [
        *UPLOADING, credit(1, 262_144), lost(0.0), credit(1, SIZE), CONNECTED, welcome(), credit(1, 262_144),
        credit(1, SIZE), accepted(1),
    ],
    "a round that ended while the connection was broken is forgotten": [
        *TRAINING, lost(0.5), CONNECTED, welcome(), state("waiting", 2), trained(1), train(2, 1),
    ],
    "a plan repeated after a reconnection does not start the training again": [
        *TRAINING, lost(0.5), CONNECTED, welcome(), train(1, 0), trained(1), train(1, 0), credit(1, SIZE),
        accepted(1),
    ],
    "a new plan ends the training of an older one": [
        *TRAINING, train(2, 1), trained(1), trained(2), accepted(2),
    ],
    "a new plan of the same round replaces the older one": [*TRAINING, train(1, 0, seed=8), trained(1)],
    "a new plan while uploading drops the older update": [
        *UPLOADING, credit(1, 262_144), train(2, 1), credit(1, SIZE), refused(1, "stale-round"), trained(2),
    ],
    "a new version of the round in hand ends its training": [
        *TRAINING, version(1, 1), trained(1), train(2, 1),
    ],
    "a new version while uploading waits for no answer": [
        *UPLOADING, version(1, 1), credit(1, SIZE), refused(1, "stale-round"), train(2, 1),
    ],
    "an abandoned round ends its training": [*TRAINING, abandoned(1), train(2, 0)],
    "news of an older round changes nothing": [
        *READY, train(3, 2), version(2, 2), abandoned(2), state("training", 3),
    ],
    "the server is away: attempts become rarer, up to half a minute, and are spread": [
        START, *[lost(random) for random in (0.5, 0.0, 0.999, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)],
        CONNECTED, lost(0.5), CONNECTED, welcome(), lost(0.5),
    ],
    "the bundle is loaded once": [
        START, CONNECTED, welcome(), lost(0.5), CONNECTED, welcome(), LOADED, LOADED,
    ],
    "the bundle becomes ready while the connection is broken": [
        START, CONNECTED, welcome(), lost(0.5), LOADED, CONNECTED, welcome(),
    ],
    "another bundle is loaded and the work on the old one forgotten": [
        *TRAINING, lost(0.5), CONNECTED, welcome(OTHER_BUNDLE), trained(1), LOADED,
    ],
    "stop while connecting": [START, STOP, CONNECTED, lost(0.5)],
    "stop before Welcome": [START, CONNECTED, STOP, welcome()],
    "stop while loading": [START, CONNECTED, welcome(), STOP, LOADED],
    "stop while waiting, start again": [*READY, STOP, lost(0.5), START, CONNECTED, welcome()],
    "stop while training": [*TRAINING, STOP, trained(1)],
    "stop while uploading": [*UPLOADING, STOP, credit(1, SIZE)],
    "stop while offline": [*TRAINING, lost(0.5), STOP, CONNECTED],
    "stop when finished": [*READY, state("finished", 5), STOP],
    "stop when stopped": [STOP, *READY, STOP, STOP],
    "replaced by another window": [*TRAINING, closing("replaced"), lost(0.5), trained(1)],
    "replaced before Welcome": [START, CONNECTED, closing("replaced"), lost(0.5)],
    "unfit for the task": [START, CONNECTED, closing("unfit"), lost(0.5)],
    "a masked round": [
        MASKABLE, CONNECTED, welcome(aggregation="masked"), LOADED, train(1, 0, masking=MASKING), trained(1),
        credit(1, SIZE), accepted(1), version(1, 1),
    ],
    "asked to mask after that was not offered": [START, CONNECTED, welcome(aggregation="masked"), lost(0.5)],
    "asked for an open update after masked ones were agreed on": [
        MASKABLE, CONNECTED, welcome(aggregation="masked"), LOADED, train(1, 0), trained(1),
    ],
    "asked for a masked update after open ones were agreed on": [
        MASKABLE, CONNECTED, welcome(), LOADED, train(1, 0, masking=MASKING), trained(1),
    ],
    "a plan with more noise than was promised is trained by": [
        MASKABLE, CONNECTED, welcome(privacy=terms("local")), LOADED, train(1, 0, privacy=whole(noise=2.0)),
        trained(1),
    ],
    "a plan without the noise that was promised is left": [
        MASKABLE, CONNECTED, welcome(privacy=terms("local")), LOADED, train(1, 0), trained(1), lost(0.5),
    ],
    "a plan with less noise than was promised is left": [
        MASKABLE, CONNECTED, welcome(privacy=terms("local")), LOADED, train(1, 0, privacy=whole()),
        trained(1), accepted(1), train(2, 1, privacy=whole(noise=0.5)), trained(2),
    ],
    "a plan with another clip than was promised is left": [
        MASKABLE, CONNECTED, welcome(privacy=terms("local")), LOADED, train(1, 0, privacy=whole(clip=99.0)),
    ],
    "gradients with less noise than was promised are not computed": [
        *VISITED, train(1, 0, privacy=PRIVACY, own=True), trained(1), accepted(1),
        train(2, 1, privacy={**PRIVACY, "example_noise": 1.5}, own=True),
    ],
    "an example is not visited more often than was promised": [
        *VISITED, train(1, 0, privacy=PRIVACY, epochs=2, own=True), trained(1), accepted(1),
        train(2, 1, privacy=PRIVACY, epochs=3, own=True),
    ],
    "an example is not visited in more steps than was promised": [
        *VISITED, train(1, 0, privacy=PRIVACY, epochs=0, steps=8, own=True), trained(1), accepted(1),
        train(2, 1, privacy=PRIVACY, epochs=0, steps=9, own=True),
    ],
    "visits to examples of others were not promised": [*VISITED, train(1, 0, privacy=PRIVACY)],
    "a server that comes back with more visits is left": [
        *VISITED, lost(0.5), CONNECTED,
        welcome(privacy=terms("examples", 2.0, 1.0, microbatch=1, visits=3)),
    ],
    "terms of examples without visits are left": [
        MASKABLE, CONNECTED, welcome(privacy=terms("examples", 2.0, 1.0, microbatch=1)),
    ],
    "gradients of other numbers of examples than was promised are not computed": [
        MASKABLE, CONNECTED, welcome(privacy=terms("examples", 2.0, 1.0, microbatch=4, visits=2)), LOADED,
        train(1, 0, privacy=PRIVACY, own=True),
    ],
    "shares of less noise than was promised are not made": [
        MASKABLE, CONNECTED, welcome(aggregation="masked", privacy=terms("distributed")), LOADED,
        train(1, 0, masking={**MASKING, "noise": 1.0}), trained(1), accepted(1), train(2, 1, masking=MASKING),
    ],
    "shares of the noise are not thinned out among more clients": [
        *MASKED_PRIVATELY, train(1, 0, masking={**MASKING, "noise": 1.0, "min_clients": 100}),
    ],
    "shares of more noise may be for more clients": [
        *MASKED_PRIVATELY, train(1, 0, masking={**MASKING, "noise": 2.0, "min_clients": 100}),
    ],
    "a server that comes back with the noise shared among more clients is left": [
        *MASKED_PRIVATELY, lost(0.5), CONNECTED,
        welcome(aggregation="masked", privacy=terms("distributed"), min_clients=100),
    ],
    "a masked plan among fewer clients than was promised is left": [
        MASKABLE, CONNECTED, welcome(aggregation="masked", min_clients=8), LOADED,
        train(1, 0, masking={**MASKING, "min_clients": 9}), trained(1), accepted(1),
        train(2, 1, masking=MASKING),
    ],
    "a masked plan without the signatures that were promised is left": [
        MASKABLE, CONNECTED, welcome(aggregation="masked", server="active"), LOADED,
        train(1, 0, masking=MASKING),
    ],
    "a masked plan with signatures that were not promised is trained by": [
        *MASKED, train(1, 0, masking={**MASKING, "server": "active"}),
    ],
    "a masked plan with another clip than was promised is left": [
        *MASKED, train(1, 0, masking={**MASKING, "clip": 20.0}),
    ],
    "a server that comes back with masks among fewer clients is left": [
        MASKABLE, CONNECTED, welcome(aggregation="masked", min_clients=8), LOADED, lost(0.5), CONNECTED,
        welcome(aggregation="masked", min_clients=7),
    ],
    "a server that comes back without signatures is left": [
        MASKABLE, CONNECTED, welcome(aggregation="masked", server="active"), LOADED, lost(0.5), CONNECTED,
        welcome(aggregation="masked"),
    ],
    "a server that comes back with another clip of masked updates is left": [
        *MASKED, lost(0.5), CONNECTED, welcome(aggregation="masked", clip=20.0),
    ],
    "terms of masks with a clip of 0 are left": [
        MASKABLE, CONNECTED, welcome(aggregation="masked", clip=0.0),
    ],
    "noise of the server is none of the client's business": [
        MASKABLE, CONNECTED, welcome(privacy=terms("central")), LOADED, train(1, 0), trained(1),
    ],
    "a server that comes back with less noise is left": [
        *MASKED_PRIVATELY, lost(0.5), CONNECTED,
        welcome(aggregation="masked", privacy=terms("distributed", 0.9)),
    ],
    "a server that comes back without privacy is left": [
        *MASKED_PRIVATELY, lost(0.5), CONNECTED, welcome(aggregation="masked"),
    ],
    "a server that comes back with noise of its own is left": [
        *MASKED_PRIVATELY, lost(0.5), CONNECTED, welcome(aggregation="masked", privacy=terms("central")),
    ],
    "a server that comes back with another clip is left": [
        *MASKED_PRIVATELY, lost(0.5), CONNECTED,
        welcome(aggregation="masked", privacy=terms("distributed", clip=20.0), clip=20.0),
    ],
    "a server that comes back with another delta is left": [
        *MASKED_PRIVATELY, lost(0.5), CONNECTED,
        welcome(aggregation="masked", privacy=terms("distributed", delta=0.1)),
    ],
    "a server that comes back with more noise is held to that": [
        *MASKED_PRIVATELY, lost(0.5), CONNECTED,
        welcome(aggregation="masked", privacy=terms("distributed", 2.0)),
        train(1, 0, masking={**MASKING, "noise": 1.0}),
    ],
    "a server that comes back without masks is left": [
        *MASKED, lost(0.5), CONNECTED, welcome(), train(1, 0),
    ],
    "a server that comes back with masks is held to those": [
        MASKABLE, CONNECTED, welcome(), LOADED, lost(0.5), CONNECTED, welcome(aggregation="masked"),
        lost(0.5), CONNECTED, welcome(),
    ],
    "a server is held to its masks after a stop and a start": [
        *MASKED, STOP, MASKABLE, CONNECTED, welcome(), STOP, MASKABLE, CONNECTED,
        welcome(aggregation="masked"),
    ],
    "a server is held to its terms after a stop and a start": [
        *MASKED_PRIVATELY, STOP, MASKABLE, CONNECTED, welcome(aggregation="masked"),
    ],
    "a task whose clients add less noise than is asked for is left": [
        DEMANDING, CONNECTED, welcome(privacy=terms("local", 0.25)),
    ],
    "a task whose clients add a smaller share of the noise than is asked for is left": [
        DEMANDING, CONNECTED, welcome(aggregation="masked", privacy=terms("distributed", 3.0)),
    ],
    "a task whose clients add as large a share of the noise as is asked for is joined": [
        DEMANDING, CONNECTED, welcome(aggregation="masked", privacy=terms("distributed", 3.5)), LOADED,
    ],
    "a larger share of the noise has to be promised where the server may lie": [
        DEMANDING, CONNECTED,
        welcome(aggregation="masked", privacy=terms("distributed", 3.5), server="active"),
    ],
    "a task whose server adds the noise is left where clients are to": [
        DEMANDING, CONNECTED, welcome(privacy=terms("central")),
    ],
    "a server that comes back with another model to be masked is left": [
        *MASKED, lost(0.5), CONNECTED, welcome(OTHER_BUNDLE, aggregation="masked"),
    ],
    "a server that comes back with another model to add noise to is left": [
        MASKABLE, CONNECTED, welcome(privacy=terms("local")), LOADED, lost(0.5), CONNECTED,
        welcome(OTHER_BUNDLE, privacy=terms("local")),
    ],
    "a server that comes back with another model and noise of its own is not left": [
        MASKABLE, CONNECTED, welcome(privacy=terms("central")), LOADED, lost(0.5), CONNECTED,
        welcome(OTHER_BUNDLE, privacy=terms("central")),
    ],
    "terms that scale the noise by a clip of 0 are left": [
        DEMANDING, CONNECTED, welcome(privacy=terms("local", clip=0.0)),
    ],
    "terms with a clip below 0 are left": [
        MASKABLE, CONNECTED, welcome(aggregation="masked", privacy=terms("distributed", clip=-1.0)),
    ],
    "terms with a clip that float32 rounds to 0 are left": [
        MASKABLE, CONNECTED, welcome(privacy=terms("local", clip=1e-40)),
    ],
    "terms with noise below 0 are left": [MASKABLE, CONNECTED, welcome(privacy=terms("local", noise=-1.0))],
    "terms with a delta of 1 are left": [MASKABLE, CONNECTED, welcome(privacy=terms("central", delta=1.0))],
    "terms of examples without microbatches are left": [
        DEMANDING, CONNECTED, welcome(privacy=terms("examples", 2.0, 1.0, visits=2)),
    ],
    "a task without privacy is left where clients are to add noise": [DEMANDING, CONNECTED, welcome()],
    "a task whose clients add as much noise as is asked for is joined": [
        DEMANDING, CONNECTED, welcome(privacy=terms("local", 0.5)), LOADED,
    ],
    "closed for another reason": [*READY, closing("idle"), lost(0.5), CONNECTED, welcome()],
    "sent away": [*READY, closing("too-fast"), lost(0.5), CONNECTED, welcome(), lost(0.5)],
    "sent away at the door, again and again": [
        START, *[CONNECTED, closing("busy"), lost(0.5)] * 4, CONNECTED, welcome(), lost(0.5),
    ],
    "the task is finished": [
        *TRAINING, state("finished", 1), trained(1), lost(0.5), CONNECTED, welcome(), state("finished", 1),
    ],
    "an idle client measures a version": [
        *UPLOADING, accepted(1), version(1, 1), evaluate(1, 1), measured(1, 1), evaluated(1, "clients"),
        train(2, 1),
    ],
    "a client with own examples says how many, and may hold none out": [
        *READY[:3], {**LOADED, "examples": 120}, evaluate(1, 1),
        {**measured(1, 1), "examples": 0, "sums": []},
    ],
    "own examples are measured where nothing hides updates": [
        *READY, evaluate(1, 1, own=True), measured(1, 1),
    ],
    "own examples are not measured under masks": [
        *MASKED, evaluate(1, 1, own=True), measured(1, 1), evaluate(2, 1), measured(2, 1),
    ],
    "own examples are not measured under noise": [
        MASKABLE, CONNECTED, welcome(privacy=terms("local")), LOADED, evaluate(1, 1, own=True),
        measured(1, 1),
    ],
    "who trains is not kept from it by a measurement": [*TRAINING, evaluate(1, 0), trained(1), accepted(1)],
    "who uploads can measure": [*UPLOADING, evaluate(1, 0), measured(1, 0), credit(1, SIZE), accepted(1)],
    "a plan ends a measurement": [*EVALUATING, train(2, 1), measured(1, 1), trained(2)],
    "a newer version ends the measurement of an older one": [*EVALUATING, version(2, 2), measured(1, 1)],
    "a measurement goes on while its own version is announced": [
        *EVALUATING, version(1, 1), evaluated(1), measured(1, 1),
    ],
    "the result of others ends a measurement": [*EVALUATING, evaluated(1, "clients"), measured(1, 1)],
    "another measurement replaces one": [*EVALUATING, evaluate(2, 2), measured(1, 1), measured(2, 2)],
    "the connection breaks while measuring, the answer is given after Ready": [
        *EVALUATING, lost(0.5), measured(1, 1), CONNECTED, welcome(), evaluate(1, 1), version(2, 2),
        lost(0.5), CONNECTED, welcome(),
    ],
    "a measurement asked for again after a reconnection goes on": [
        *EVALUATING, lost(0.5), CONNECTED, welcome(), evaluate(1, 1), measured(1, 1), measured(1, 1),
    ],
    "measuring before the bundle is loaded is not possible": [*READY[:3], evaluate(1, 1), measured(1, 1)],
    "stop while measuring": [*EVALUATING, STOP, measured(1, 1)],
    "another bundle ends a measurement": [
        *EVALUATING, lost(0.5), CONNECTED, welcome(OTHER_BUNDLE), measured(1, 1),
    ],
    "a finished task ends a measurement": [*EVALUATING, state("finished", 1), measured(1, 1)],
    "an offer of a private plan says neither loss nor sums": [
        *READY, train(1, 0, privacy=PRIVACY), trained(1), lost(0.5), CONNECTED, welcome(),
    ],
    "the change of a control variate is kept when the update counts": [
        *COUNTED, version(1, 1), abandoned(1), train(2, 1, control=CONTROL), trained(2), accepted(2),
    ],
    "the change of an abandoned round is taken back": [*COUNTED, abandoned(1), train(2, 0, control=CONTROL)],
    "a change is taken back when its version is trained again": [
        *COUNTED, lost(0.5), CONNECTED, welcome(), train(2, 0, control=CONTROL), trained(2), accepted(2),
    ],
    "a change of a lost connection stays when there is a newer version": [
        *COUNTED, lost(0.5), CONNECTED, welcome(), state("waiting", 2, version=1),
        train(2, 1, control=CONTROL), trained(2), refused(2), abandoned(1),
    ],
    "the change of a refused update is not kept": [
        *READY, train(1, 0, control=CONTROL), trained(1), refused(1), abandoned(1),
    ],
    "a finished task is continued": [*READY, state("finished", 5), state("waiting", 5), train(6, 5)],
    "events out of place change nothing": [
        CONNECTED, LOADED, welcome(), trained(1), lost(0.5), START, START, welcome(), CONNECTED, CONNECTED,
        train(1, 0), welcome(), train(1, 0), LOADED, welcome(), trained(1), credit(1, 5), abandoned(9),
        train(1, 0), trained(4), trained(1), trained(1),
    ],
}  # fmt: skip


def conversations() -> list[Conversation]:
    """Every story, replayed on a new machine."""
    return [Conversation(name, _replay(events)) for name, events in STORIES.items()]


def _replay(events: list[Json]) -> list[Step]:
    machine = ParticipantMachine()
    steps = []
    for raw in events:
        event: Event = msgspec.convert(raw, Event)
        effects = machine.handle(event)
        counts, newcomer = (machine.accepted, machine.refused), (machine.checked, machine.probation)
        steps.append(Step(event, effects, machine.phase, *counts, machine.reason, *newcomer))
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
