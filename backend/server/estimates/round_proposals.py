"""Proposes a plan of rounds that fits a model and its data, with a reason for each value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from backend.formats.manifest import Manifest
from backend.formats.task_file import TaskFile
from backend.formats.task_file.robust import RobustTable
from backend.formats.task_file.rules.byzantine import ADVISED_STEPS
from backend.server.estimates.data_supply import Supply
from backend.server.estimates.reasons import (
    ENOUGH_STEPS,
    LEARNING_STEPS,
    MAX_EPOCHS,
    Proposal,
    device_in_words,
    duration,
    goal_visits,
    people,
    rate,
    round_seconds,
    round_up,
    slow_step,
    steps_in_words,
)
from backend.server.estimates.round_costs import cohort, examples_of_client, transfer_seconds
from backend.server.estimates.traffic import Traffic
from backend.server.tasks.formatting import number
from backend.server.tasks.model_inspection import StepTime, fastest
from backend.translation import gettext

# Target and maximum seconds of training of a slow device in a round.
_TARGET_SECONDS, _MAX_SECONDS = 60.0, 120.0
_ROUNDS = (10, 1000)
_MAX_DEADLINE = 3600.0
_SLACK = 2.0
_PROXIMAL = 0.01


def propose(
    file: TaskFile,
    manifest: Manifest,
    wire: Traffic,
    times: Sequence[StepTime],
    supply: Supply,
    volunteers: int,
) -> list[Proposal]:
    """Proposes values for `volunteers` in the plan's order; each assumes those before it."""
    step = slow_step(times)
    checked = file.coordination.byzantine is not None
    shards = None if supply.own or checked else _shards(manifest, supply, volunteers, step)
    examples = (
        examples_of_client(file, supply)
        if shards is None
        else round(shards.value or 0) * supply.examples / supply.shards
    )
    steps = math.ceil(max(1.0, examples) / (file.training.batch_size or manifest.batch_size))
    visits = list(_checked_steps() if checked else _visits(steps, step))
    fixed_steps = next((item.value for item in visits if item.key == "training.steps" and item.value), None)
    epochs = next((item.value for item in visits if item.key == "training.epochs" and item.value), 1) or 1
    seconds = None if step is None else (fixed_steps or epochs * steps) * step
    clients = cohort(file, volunteers)
    # With a fixed number of steps a client may visit only a part of its examples.
    visited = max(1.0, min(examples, (fixed_steps or steps) * manifest.batch_size)) * epochs
    return [
        *([shards] if shards else []),
        *visits,
        rate(manifest),
        *_proximal(supply),
        _rounds(supply, clients, visited, fixed_steps or int(epochs) * steps),
        *_quorum(file, supply),
        *_deadline(wire, times, seconds),
    ]


def _shards(manifest: Manifest, supply: Supply, volunteers: int, step: float | None) -> Proposal:
    share = math.ceil(supply.shards / max(1, volunteers))
    shard_size = supply.examples / supply.shards
    # At most as many as a slow device trains in a minute, one visit each.
    limit = (
        supply.shards
        if step is None
        else max(1, math.floor(_TARGET_SECONDS / step * manifest.batch_size / shard_size))
    )
    value = max(1, min(share, limit, supply.shards))
    if value == share:
        reason = gettext(
            "%(shards)s shards among %(people)s: with %(value)s each, a round goes over all examples once."
        )
    else:
        reason = gettext(
            "%(shards)s shards among %(people)s would be %(share)s each, but a slow device trains on "
            "%(value)s in about a minute."
        )
    words = {"shards": number(supply.shards), "people": people(volunteers), "value": value, "share": share}
    return Proposal("data.shards_per_client", value, reason % words)


def _visits(steps: int, step: float | None) -> Iterator[Proposal]:
    """Proposes epochs, or a number of steps if one epoch takes a slow device too long."""
    if step is not None and steps * step > _MAX_SECONDS:
        count = max(1, math.floor(_TARGET_SECONDS / step))
        yield Proposal(
            "training.epochs",
            None,
            gettext("Steps are counted instead: one visit to all examples takes too long."),
        )
        yield Proposal(
            "training.steps",
            count,
            gettext(
                "One visit to all of its examples takes %(steps)s, on a slow device %(duration)s. This many "
                "steps take it a minute."
            )
            % {"steps": steps_in_words(steps), "duration": duration(steps * step)},
        )
        return
    longest = MAX_EPOCHS if step is None else max(1, math.floor(_TARGET_SECONDS / (steps * step)))
    epochs = max(1, min(MAX_EPOCHS, longest, math.ceil(ENOUGH_STEPS / steps)))
    yield Proposal(
        "training.steps", None, gettext("Visits are counted instead: devices have examples to go over.")
    )
    if epochs == 1:
        reason = gettext("One pass takes %(steps)s: enough to justify the data each round transfers.")
    else:
        reason = gettext(
            "One pass takes %(steps)s; %(epochs)s passes justify the data each round transfers. With more, "
            "devices would drift apart before they are averaged."
        )
    yield Proposal("training.epochs", epochs, reason % {"steps": steps_in_words(steps), "epochs": epochs})


def _checked_steps() -> Iterator[Proposal]:
    """Proposes a round's steps where members do each other's work again."""
    reason = gettext("Members check each other's work: after few steps, honest results are near each other.")
    yield Proposal("training.epochs", None, reason)
    yield Proposal("training.steps", ADVISED_STEPS, reason)


def _proximal(supply: Supply) -> Iterator[Proposal]:
    """Proposes FedProx's term if clients' examples differ."""
    if supply.own:
        yield Proposal(
            "training.proximal_mu",
            _PROXIMAL,
            gettext(
                "People's data differ: this pulls each device slightly back to the common model (FedProx, Li "
                "et al. 2020)."
            ),
        )
    else:
        yield Proposal(
            "training.proximal_mu",
            0.0,
            gettext("Shards are mixed, so all devices learn from similar examples and do not drift apart."),
        )


def _rounds(supply: Supply, clients: int, rows: float, steps: float) -> Proposal:
    """Proposes rounds for enough visits to each example, and for enough steps of each device in a row."""
    total = supply.examples * (clients if supply.own else 1)
    goal = goal_visits(total)
    minimum, maximum = _ROUNDS
    visits, learning = math.ceil(goal * total / (clients * rows)), math.ceil(LEARNING_STEPS / steps)
    value = round_up(min(maximum, max(minimum, visits, learning)))
    times = value * clients * rows / total
    return Proposal(
        "coordination.rounds",
        value,
        gettext(
            "A round of %(people)s goes over %(examples)s examples: in %(rounds)s rounds each of the "
            "%(total)s is seen about %(times)s times."
        )
        % {
            "people": people(clients),
            "examples": number(round(clients * rows)),
            "rounds": value,
            "total": number(total),
            "times": f"{times:.2g}" if times < 10 else number(round(times)),
        },
    )


def _quorum(file: TaskFile, supply: Supply) -> Iterator[Proposal]:
    minimum = file.security.masked.min_clients if file.security.masks else 3 if supply.own else 2
    if file.coordination.decentralized and file.security.masks:
        minimum = 3
    if file.security.masks:
        why = gettext("Updates are masked among at least %(least)s.") % {"least": minimum}
        minimum *= file.security.groups
    elif supply.own:
        why = gettext("With two, each could subtract its own update from the result and have the other's.")
    else:
        why = gettext("Two are enough to start: anyone who comes later joins the next round.")
    robust = None if file.security.masks else file.security.robust
    if robust is not None and robust.least > minimum:
        minimum = robust.least
        why = _rule_needs(robust)
    yield Proposal("coordination.min_available_clients", minimum, why)
    quorum = minimum if supply.own or file.security.masks else 1 if robust is None else robust.least
    if robust is not None and quorum == robust.least:
        reason = _rule_needs(robust)
    elif quorum > 1:
        reason = gettext("A version combines at least this many updates, so that none can be seen alone.")
    else:
        reason = gettext("Examples are public, so a version of one update gives nothing away.")
    yield Proposal("coordination.quorum", quorum, reason)


def _rule_needs(robust: RobustTable) -> str:
    sentence = gettext("The robust rule needs %(least)s updates to bear %(attackers)s false ones.")
    return sentence % {"least": robust.least, "attackers": robust.attackers}


def _deadline(wire: Traffic, times: Sequence[StepTime], seconds: float | None) -> Iterator[Proposal]:
    if seconds is None:
        return
    device = next(name for name in ("phone", "laptop", "gpu") if name in fastest(list(times)))
    needed = seconds + transfer_seconds(device, wire.version_down, wire.update_up)
    value = round_seconds(min(_MAX_DEADLINE, max(30.0, _SLACK * needed)))
    yield Proposal(
        "coordination.deadline",
        value,
        gettext(
            "%(device)s needs about %(duration)s to fetch the model, train and send: twice that, and half a "
            "minute at least, lets most of them be done. Rounds end earlier once all are."
        )
        % {"device": device_in_words(device), "duration": duration(needed)},
    )
