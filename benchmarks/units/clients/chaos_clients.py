"""Assigns characters to the clients of the chaos run, and evaluates their diaries."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter
from statistics import fmean
from typing import Any

from benchmarks.units.clients.false_results import LIES
from benchmarks.units.clients.light_client import Character

# Shares of all clients; the others are honest and stay.
KILLED, LATE, CHEATS = 0.5, 0.1, 0.05
# A client that dies does so in one of its first units.
DIES_AT_MOST = 6


@dataclass(frozen=True)
class Shares:
    """Shares of all clients."""

    killed: float = KILLED
    late: float = LATE
    cheats: float = CHEATS


def characters(clients: int, shares: Shares, sleepers: int, checked: int, seed: int) -> list[Character]:
    """Returns so many clients in random order; cheats use the kinds of lies in turn.

    The last `sleepers` cheats are honest until `checked` results in a row held, so that they are trusted
    first.
    """
    generator = random.Random(seed)
    cheats, lies = round(shares.cheats * clients), list(LIES)
    result = [
        Character(dies_at=generator.randint(1, DIES_AT_MOST)) for _ in range(round(shares.killed * clients))
    ]
    result += [Character(late=True) for _ in range(round(shares.late * clients))]
    result += [
        Character(lie=lies[number % len(lies)], from_held=checked if number >= cheats - sleepers else 0)
        for number in range(cheats)
    ]
    result += [Character()] * (clients - len(result))
    generator.shuffle(result)
    return result


@dataclass(frozen=True)
class Cheating:
    """The results of one kind of cheat; lies are false results.

    `until_caught` gives, for each cheat, the number of lies examined up to the first rejected one; `expected`
    is the mean of this number by the rules. `counted` lies passed undetected, `blended` ones are in the
    model.
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
    """Evaluates each kind of cheat."""
    kinds_of_cheats = []
    for lie in LIES:
        for sleeps in (False, True):
            diaries_of_kind = [
                one
                for one in diaries
                if one["character"]["lie"] == lie and bool(one["character"]["from_held"]) is sleeps
            ]
            if diaries_of_kind:
                kinds_of_cheats.append(
                    _kind(lie, sleeps, diaries_of_kind, expected_of_sleepers if sleeps else 1.0)
                )
    return kinds_of_cheats


def _kind(lie: str, sleeps: bool, diaries: Sequence[dict[str, Any]], expected: float) -> Cheating:
    until = [_until_caught(one) for one in diaries]
    return Cheating(
        lie=lie,
        sleeps=sleeps,
        clients=len(diaries),
        caught=sum(one is not None for one in until),
        lies=sum(len(one["lies"]) for one in diaries),
        rejected=sum(len(set(one["lies"]) & set(one["rejected"])) for one in diaries),
        counted=sum(len(set(one["lies"]) & set(one["counted"])) for one in diaries),
        blended=sum(len(set(one["lies"]) & set(one["blended"])) for one in diaries),
        until_caught=[one for one in until if one is not None],
        expected=expected,
    )


def _until_caught(diary: dict[str, Any]) -> int | None:
    """Returns the number of lies examined up to the first rejected one, or None."""
    judged = set(diary["rejected"]) | set(diary["counted"])
    examined = [lease for lease in diary["lies"] if lease in judged]
    first = next((position for position, lease in enumerate(examined) if lease in diary["rejected"]), None)
    return None if first is None else first + 1


def expected_units(checked: int, spot_checks: float) -> float:
    """Returns the expected lies until a client trusted since `checked` results is caught.

    Each is compared by another client with probability 1 / checked, and by a trusted peer with spot_checks.
    """
    return 1.0 / min(1.0, 1.0 / checked + spot_checks)


@dataclass(frozen=True)
class Coverage:
    """Rows of the data that the closed epochs used never, or more than once."""

    epochs: int
    results: int
    missing: int
    twice: int


def coverage(results: Iterable[dict[str, Any]], shards: Sequence[int], closed: int) -> Coverage:
    """Counts how often each row of `shards` (their examples) is in each epoch up to `closed`.

    Of the parts of a unit each counts for the rows after those of the part before.
    """
    epochs = range(1, closed + 1)
    times = {(epoch, shard): [0] * rows for epoch in epochs for shard, rows in enumerate(shards)}
    in_order = sorted((one for one in results if one["epoch"] <= closed), key=itemgetter("first step"))
    rows_before: Counter[tuple[int, int, int]] = Counter()
    count = len(in_order)
    for one in in_order:
        unit = one["epoch"], one["shard"], one["first"]
        begin = one["first"] + (rows_before[unit] if one["first step"] else 0)
        rows_before[unit] += one["examples"]
        for row in range(begin, begin + one["examples"]):
            times[one["epoch"], one["shard"]][row] += 1
    flat = [count_of_row for rows in times.values() for count_of_row in rows]
    return Coverage(closed, count, flat.count(0), sum(count_of_row > 1 for count_of_row in flat))


def means(results: Iterable[dict[str, Any]], closed: int) -> dict[int, float]:
    """Returns for each epoch up to `closed` the mean of the accuracies measured after its results."""
    epochs: dict[int, list[float]] = {}
    for one in results:
        if one["accuracy"] is not None and one["epoch"] <= closed:
            epochs.setdefault(one["epoch"], []).append(one["accuracy"])
    return {epoch: fmean(epochs[epoch]) for epoch in sorted(epochs)}


def client_setup(character: Character, token: str) -> dict[str, Any]:
    """Returns a client as client_process reads it."""
    return {"token": token, "character": asdict(character)}
