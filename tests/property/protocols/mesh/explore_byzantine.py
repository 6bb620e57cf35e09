"""Plays many schedules of Byzantine meshes: `python -m tests.property.protocols.mesh.explore_byzantine
--seeds FIRST END [--jobs N]`.

A schedule that fails is named with its seed; `--seeds S S+1` plays it again, the same to the last event.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from multiprocessing import get_context

from backend.protocols.mesh.byzantine.evidence.building import EvidenceBuilder
from backend.protocols.mesh.byzantine.outcome import CONVICTED
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.ban_evidence import MOST_TURNS
from tests.support.protocols.byzantine.member_host import Host, hashed_keys
from tests.support.protocols.byzantine.schedules import schedule
from tests.support.protocols.byzantine.world import World

ROUNDS = 4


def play(seed: int, counts: Counter[str]) -> None:
    """Plays one schedule; raises AssertionError where something that must hold does not."""
    with hashed_keys():
        played = schedule(seed)
        world = played.world
        for number in range(ROUNDS):
            world.play_round()
            try:
                check(world, played.liars, played.sleepers)
            except AssertionError as error:
                raise AssertionError(f"{error} (round {number + 1}, {played.told})") from error
            counts["rounds"] += 1
            counts["frames"] += world.frames
            counts["removed"] += max(len(host.removed) for host in world.honest)
            world.settle()
        counts["banned"] += len(world.honest[0].state.membership.banned if world.honest[0].state else ())
        counts["schedules"] += 1


def check(world: World, liars: list[str], sleepers: list[str]) -> None:
    """Raises AssertionError where two honest members differ, one is punished, or one has no result.

    Those who sleep may count as absent, and know of no result.
    """
    results = set()
    for host in world.honest:
        if host.result is None:
            assert host.client in sleepers, f"{host.client} has no result: {host.failure}"
            continue
        results.add(host.result.digest() if isinstance(host.result, AgreedState) else host.result)
        wrongly = {client: why for client, why in host.removed.items() if client not in liars}
        assert CONVICTED.isdisjoint(wrongly.values()), f"{host.client} convicted honest members: {wrongly}"
        assert wrongly.keys() <= set(sleepers), f"{host.client} removed honest members: {wrongly}"
        if isinstance(host.result, AgreedState):
            _check_membership(world, host.result, sleepers)
    _check_evidence(world)
    assert len(results) == 1, f"results differ: {[one.hex()[:8] for one in results]}"


def _check_evidence(world: World) -> None:
    """Raises AssertionError where a member was banned whom no honest one can convict before strangers."""
    banned = {
        client
        for host in world.honest
        if isinstance(host.result, AgreedState) and host.state is not None
        for client, identity in host.state.membership.identities().items()
        if identity in host.result.membership.banned and identity not in host.state.membership.banned
    }
    lacking = [one for one in sorted(banned) if not any(_builds(world, host, one) for host in world.honest)]
    assert not lacking, f"nothing convicts {lacking}"


def _builds(world: World, host: Host, client: str) -> bool:
    held = {digest: vector.tobytes() for digest, vector in host.held.items()}
    builder = EvidenceBuilder("digits", "ab" * 32, client, world.identities[client])
    match host.removed.get(client):
        case "two-words" | "wrong-mean" | "wrong-check" as why:
            return builder.removed(why, host.convicting[client], held.get) is not None
        case _:
            return builder.convicted_by_court(host.records[-MOST_TURNS:]) is not None


def _check_membership(world: World, state: AgreedState, sleepers: list[str]) -> None:
    seats = {seat.client: seat for seat in state.membership.seats}
    entered = [one.client for one in state.membership.newcomers]
    assert set(entered) <= set(world.hosts), f"strangers entered: {entered}"
    for host in world.honest:
        assert world.identities[host.client] not in state.membership.banned, f"{host.client} was banned"
        if host.client not in sleepers:
            assert host.client in seats, f"{host.client} lost its seat"
            assert not seats[host.client].absences, f"{host.client} counts as absent"


def explore(seeds: Iterable[int]) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Returns how many of what, and the seeds that failed, with what went wrong."""
    counts: Counter[str] = Counter()
    failed = []
    for seed in seeds:
        try:
            play(seed, counts)
        except Exception:  # Any fault is reported with the seed of its schedule.
            failed.append((seed, traceback.format_exc()))
    return counts, failed


def main() -> int:
    """Tells what was played; 1 where a schedule failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 400), metavar=("FIRST", "END"))
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    first, end = given.seeds
    began = time.perf_counter()
    counts: Counter[str] = Counter()
    failed: list[tuple[int, str]] = []
    portions = [range(start, end, given.jobs) for start in range(first, min(first + given.jobs, end))]
    with get_context("spawn").Pool(given.jobs) as pool:
        for some, wrong in pool.map(explore, portions):
            counts.update(some)
            failed += wrong
    for seed, error in failed[:5]:
        print(f"seed {seed}:\n{error}", file=sys.stderr)
    print(*(f"{count} {what}" for what, count in counts.items()), sep=", ", end="")
    print(f" in {time.perf_counter() - began:.0f} s; failed: {[seed for seed, _ in failed] or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
