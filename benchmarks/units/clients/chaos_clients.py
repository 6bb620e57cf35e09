"""Who takes part in the chaos run, and what came of each of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from benchmarks.units.clients.false_results import LIES
from benchmarks.units.clients.light_client import Character

# Of all clients. The others are honest and stay.
KILLED, LATE, CHEATS = 0.5, 0.1, 0.05
# Whoever dies does so in one of its first units.
DIES_AT_MOST = 6


@dataclass(frozen=True)
class Shares:
    """Parts of all clients."""

    killed: float = KILLED
    late: float = LATE
    cheats: float = CHEATS


def characters(clients: int, shares: Shares, sleepers: int, checked: int, seed: int) -> list[Character]:
    """So many clients, in any order. Cheats take turns in how they do it.

    The last `sleepers` of them are honest until `checked` results in a row held, to be trusted first.
    """
    dice = random.Random(seed)
    cheats, lies = round(shares.cheats * clients), list(LIES)
    cast = [Character(dies_at=dice.randint(1, DIES_AT_MOST)) for _ in range(round(shares.killed * clients))]
    cast += [Character(late=True) for _ in range(round(shares.late * clients))]
    cast += [
        Character(lie=lies[number % len(lies)], from_held=checked if number >= cheats - sleepers else 0)
        for number in range(cheats)
    ]
    cast += [Character()] * (clients - len(cast))
    dice.shuffle(cast)
    return cast


@dataclass(frozen=True)
class Cheating:
    """What came of one kind of cheats. Lies are results that were none.

    `until_caught` are, of each of them, how many of its lies were looked at until the first was rejected;
    `expected` is their mean by the rules. `counted` lies passed unseen, `blended` ones are in the model.
    """

    lie: str
    sleeps: bool
    clients: int
    caught: int
    lies: int
    rejected: int
    counted: int
    blended: int
    until_caught: list[int]
    expected: float


def kinds(diaries: Sequence[dict[str, Any]], expected_of_sleepers: float) -> list[Cheating]:
    """Each kind of cheats."""
    found = []
    for lie in LIES:
        for sleeps in (False, True):
            mine = [
                one
                for one in diaries
                if one["character"]["lie"] == lie and bool(one["character"]["from_held"]) is sleeps
            ]
            if mine:
                found.append(_kind(lie, sleeps, mine, expected_of_sleepers if sleeps else 1.0))
    return found


def _kind(lie: str, sleeps: bool, mine: Sequence[dict[str, Any]], expected: float) -> Cheating:
    until = [_until_caught(one) for one in mine]
    return Cheating(
        lie=lie,
        sleeps=sleeps,
        clients=len(mine),
        caught=sum(one is not None for one in until),
        lies=sum(len(one["lies"]) for one in mine),
        rejected=sum(len(set(one["lies"]) & set(one["rejected"])) for one in mine),
        counted=sum(len(set(one["lies"]) & set(one["counted"])) for one in mine),
        blended=sum(len(set(one["lies"]) & set(one["blended"])) for one in mine),
        until_caught=[one for one in until if one is not None],
        expected=expected,
    )


def _until_caught(diary: dict[str, Any]) -> int | None:
    """How many lies were looked at until one was rejected, that one included; None where none was."""
    judged = set(diary["rejected"]) | set(diary["counted"])
    seen = [lease for lease in diary["lies"] if lease in judged]
    first = next((place for place, lease in enumerate(seen) if lease in diary["rejected"]), None)
    return None if first is None else first + 1


def expected_units(checked: int, spot_checks: float) -> float:
    """How many lies it takes on average until a client is caught that is trusted since `checked` results.

    Each is compared with chance 1 / checked by another client, and spot_checks by a trusted peer.
    """
    return 1.0 / min(1.0, 1.0 / checked + spot_checks)


@dataclass(frozen=True)
class Coverage:
    """Of the epochs that are over: rows of the data that are in the model never, or more than once."""

    epochs: int
    results: int
    missing: int
    twice: int


def coverage(results: Iterable[dict[str, Any]], shards: Sequence[int], closed: int) -> Coverage:
    """Whether each of the rows of `shards` (their examples) is in each epoch up to `closed` exactly once."""
    epochs = range(1, closed + 1)
    times = {(epoch, shard): [0] * rows for epoch in epochs for shard, rows in enumerate(shards)}
    count = 0
    for one in results:
        if one["epoch"] > closed:
            continue
        count += 1
        for row in range(one["first"], one["first"] + one["examples"]):
            times[one["epoch"], one["shard"]][row] += 1
    flat = [often for rows in times.values() for often in rows]
    return Coverage(closed, count, flat.count(0), sum(often > 1 for often in flat))


def means(results: Iterable[dict[str, Any]], closed: int) -> dict[int, float]:
    """Of each epoch up to `closed` the mean of the accuracies that were measured after its results."""
    epochs: dict[int, list[float]] = {}
    for one in results:
        if one["accuracy"] is not None and one["epoch"] <= closed:
            epochs.setdefault(one["epoch"], []).append(one["accuracy"])
    return {epoch: fmean(epochs[epoch]) for epoch in sorted(epochs)}


def told(character: Character, token: str) -> dict[str, Any]:
    """A client as unit_crowd reads it."""
    return {"token": token, "character": asdict(character)}
