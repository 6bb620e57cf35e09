"""A real mesh whose members train by different engines and check each other, honest or with one liar."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from queue import Empty
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.btard.processes.engine_members import Member, MemberStarter, PeerMember
from benchmarks.btard.processes.findings import findings_of
from tests.support.keras.reference_cache import ROOT
from tests.support.peer.digits_mesh import write_byzantine_digits
from tests.support.tasks.pinned_task import built_program, require_exact
from tests.support.web.server_process import running

# Steps of a round, as the advice is.
STEPS = 10
# Rounds after which a liar that nobody has banned counts as not found.
_MOST_ROUNDS = 200
_TELL_EVERY = 10


@dataclass(frozen=True)
class Engines:
    """The members of a mesh: the name of the peer's engine, and name, browser and backend of each page.

    `lie` is that of one member more (tests/support/peer/lying_peer.py), `ban` the name of the figure that
    counts its ban.
    """

    peer: str
    pages: Sequence[tuple[str, str, str | None]]
    lie: str
    ban: str
    is_exact: bool
    patience: float


BACKENDS = Engines(
    "tensorflow",
    [(backend, "chromium", backend) for backend in ("wasm", "webgl", "webgpu", "cpu")],
    lie="half",
    ban="banned_half",
    is_exact=False,
    patience=60.0,
)
# A peer's exact worker runs in Node.js.
EXACT = Engines(
    "node",
    [(browser, browser, None) for browser in ("chromium", "firefox", "webkit")],
    lie="bit",
    ban="one_bit_banned",
    is_exact=True,
    patience=30.0,
)


def engine_figures(engines: Engines, rounds: int) -> dict[str, Any]:
    """Returns the figures of a mesh of honest members for so many rounds, and of one with a liar more."""
    figures, lied = honest_run(engines, rounds), liar_run(engines)
    rows, banned = figures.pop("rows"), figures["banned_honest"] + lied["banned_honest"]
    return {**figures, **lied, "banned_honest": banned, "rows": rows}


def honest_run(engines: Engines, rounds: int) -> dict[str, Any]:
    """Returns what the members found of each other in so many rounds, and whether bits differ.

    All members are honest: `banned_honest` counts every ban.
    """
    with _mesh(engines, rounds, None) as (members, watcher, _):
        seconds = _follow(watcher, rounds)
        for member in members:
            member.finish()
        names = {member.client: member.name for member in members}
        found = [(member.name, one) for member in members for one in member.findings()]
        held = [member.held() for member in members]
        removed, banned = len(watcher.removed()), len(watcher.banned())
    return {
        "rounds": len(held[0]),
        "fewest_held": min(map(len, held)),
        "different_bits": _different(held),
        "removed": removed,
        "banned_honest": banned,
        "seconds_a_round": seconds,
        **findings_of(found, names),
    }


def liar_run(engines: Engines) -> dict[str, Any]:
    """Returns who was banned, after how many rounds, in a mesh with one liar more."""
    with _mesh(engines, _MOST_ROUNDS, engines.lie) as (members, watcher, liar):
        banned = list[str]()
        while not banned and len(watcher.held()) < _MOST_ROUNDS:
            watcher.until("averaged")
            banned = watcher.banned()
        found = [(member.name, one) for member in members for one in member.findings()]
        rounds = len(watcher.held())
    against = [(name, one) for name, one in found if one.target == liar and one.found == "other"]
    distances = [one.distance for _, one in against if one.distance is not None]
    return {
        engines.ban: banned.count(str(liar)),
        "banned_honest": sum(one != liar for one in banned),
        "rounds_to_ban": rounds if banned else None,
        "convicted_by": sorted({name for name, _ in against}),
        "nearest_lie": round(min(distances), 3) if distances else None,
    }


@contextmanager
def _mesh(
    engines: Engines, rounds: int, lie: str | None
) -> Iterator[tuple[list[Member], PeerMember, str | None]]:
    """Yields the honest members, the first of them, and the liar's client."""
    with TemporaryDirectory(prefix="minga-engines-") as temporary, ExitStack() as stack:
        folder, count = Path(temporary), 1 + len(engines.pages) + (lie is not None)
        write_byzantine_digits(
            ROOT / "models" / "digits",
            folder / "tasks" / "digits",
            averaging={"patience": engines.patience},
            training={"steps": STEPS},
            rounds=rounds,
            min_available_clients=count,
            deadline=300,
        )
        if engines.is_exact:
            require_exact(folder / "tasks" / "digits", built_program(), "built/bundle")
        server = stack.enter_context(running(folder / "tasks", folder / "data"))
        assert [task["name"] for task in server.report["tasks"]] == ["digits"], server.report
        starter = MemberStarter(stack, f"{server.url}/tasks/digits", folder)
        flags = ("--exact",) if engines.is_exact else ()
        watcher = starter.peer(engines.peer, *flags)
        pages = [starter.page(*page) for page in engines.pages]
        liar = starter.peer("liar", *flags, liar=lie).client if lie else None
        try:
            yield [watcher, *pages], watcher, liar
        except Empty:
            for page in pages:
                print(f"{page.name}: {page.hint()}", file=sys.stderr)
            raise


def _follow(watcher: PeerMember, rounds: int) -> float:
    """Waits until the peer has ended the last round; returns the median of the seconds of a round."""
    ended, number = list[float](), 0
    while number < rounds:
        number = watcher.until("averaged")["round"]
        ended.append(time.monotonic())
        if number % _TELL_EVERY == 0:
            seconds, removed = ended[-1] - ended[0], len(watcher.removed())
            sentence = f"round {number}: {seconds:.0f} s since the first round, {removed} removed"
            print(sentence, file=sys.stderr, flush=True)
    lasted = [later - sooner for sooner, later in pairwise(ended)]
    return round(median(lasted), 2) if lasted else 0.0


def _different(held: Sequence[dict[int, str]]) -> int:
    """Returns how many members and rounds have other weights than most members had after the round."""
    numbers = {number for one in held for number in one}
    of_round = [Counter(one[number] for one in held if number in one) for number in numbers]
    return sum(counts.total() - max(counts.values()) for counts in of_round)
